#!/usr/bin/env bash
# Copyright (c) The resilientjob authors
# SPDX-License-Identifier: MPL-2.0
#
# Prints the provider's schema as `terraform providers schema -json` does, read from the
# provider binary in the folder given as the first argument.
set -euo pipefail
bin=$(cd "$1" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat > "$work/cli.tfrc" <<RC
provider_installation {
  dev_overrides { "registry.terraform.io/resilientjob/resilientjob" = "$bin" }
  direct {}
}
RC
cat > "$work/main.tf" <<'TF'
terraform {
  required_providers {
    resilientjob = { source = "resilientjob/resilientjob" }
  }
}
TF
cd "$work"
TF_CLI_CONFIG_FILE=$work/cli.tfrc terraform providers schema -json | "$bin/schemajson"

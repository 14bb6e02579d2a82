#!/usr/bin/env bash
# Copyright (c) The resilientjob authors
# SPDX-License-Identifier: MPL-2.0
set -euo pipefail
cd "$(dirname "$0")"

control() { # METHOD CALL [BODY]
  curl --fail-with-body --silent --show-error --request "$1" --header "Authorization: Bearer $(cat "$CONTROL_TOKEN_FILE")" \
    --header 'Content-Type: application/json' --data "${3-}" "http://$RESILIENTJOB_EMULATOR_HOST/control/v1/$2"
}

control POST reset           # an empty cloud, and no fault
control POST seed @world.json # what is there before the test

# The next two calls of CreateJob are answered with 503.
control POST faults '{"method": "google.cloud.run.v2.Jobs/CreateJob", "times": 2, "code": "UNAVAILABLE"}'

# Six hours pass at once: timeouts fall due, schedules of preemptions as well.
control POST fast-forward '{"by": "6h"}'

# What was asked for since, and how it was answered.
control GET 'calls?method=storage.buckets.*'

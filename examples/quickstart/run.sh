#!/usr/bin/env bash
# The main job on the local emulator: apply, preempt in the middle, resume, finish, destroy.
# Needs bin/ (make build), terraform and python3. QUICKSTART_PORT chooses another port than 8085.
set -euo pipefail
cd "$(dirname "$0")/../.."
root=$PWD
work=$root/.quickstart
port=${QUICKSTART_PORT:-8085}
host=127.0.0.1:$port

say()  { printf '\n==> %s\n' "$*"; }
fail() { printf '\nquickstart: %s\n' "$*" >&2; exit 1; }

command -v terraform >/dev/null || fail "the terraform command is missing. Install Terraform 1.5 or newer: https://developer.hashicorp.com/terraform/install"
python3 -c 'import sys; sys.exit(sys.version_info < (3, 9))' 2>/dev/null || fail "python3 (3.9 or newer) is missing: the training program is written in it."
for binary in terraform-provider-resilientjob resilientjob-emulator; do
  [ -x "bin/$binary" ] || fail "bin/$binary is missing. Run make build first (make quickstart does)."
done
case $port in *[!0-9]*|'') fail "QUICKSTART_PORT=$port is no port number." ;; esac

# An earlier run that was killed may have left its emulator and its folder behind.
if [ -f "$work/emulator.pid" ]; then
  old=$(cat "$work/emulator.pid")
  if [ -n "$old" ] && ps -p "$old" -o args= 2>/dev/null | grep -q resilientjob-emulator; then
    say "An earlier quickstart left its emulator running (process $old): stopping it"
    kill "$old" && while kill -0 "$old" 2>/dev/null; do sleep 0.1; done
  fi
fi
rm -rf "$work"
mkdir -p "$work"

emulator=
story=
cleanup() {
  status=$?
  trap - EXIT INT TERM
  [ -z "$story" ] || kill "$story" 2>/dev/null || true
  if [ -n "$emulator" ] && kill "$emulator" 2>/dev/null; then wait "$emulator" 2>/dev/null || true; fi
  # What the emulator held went with it; a failed run's output stays to be read.
  if [ "$status" = 0 ]; then rm -rf "$work"; else rm -f "$work/emulator.pid"; echo "The output of this run is in $work" >&2; fi
  exit "$status"
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

say "Starting the emulator: a Google Cloud for jobs, on $host"
bin/resilientjob-emulator --listen "$host" \
  --image "*/checkpointed-training*=python3 $root/examples/apps/checkpointed-training/train.py" \
  --preempt-after 5s > "$work/emulator.log" 2>&1 &
emulator=$!
echo "$emulator" > "$work/emulator.pid"
until python3 -c "import urllib.request; urllib.request.urlopen('http://$host/healthz', timeout=1)" 2>/dev/null; do
  kill -0 "$emulator" 2>/dev/null || {
    emulator=
    sed 's/^/    /' "$work/emulator.log" >&2
    fail "the emulator did not start. If port $port is in use, choose another: QUICKSTART_PORT=18085 make quickstart"
  }
  sleep 0.1
done
sed 's/^/    /' "$work/emulator.log" | grep -iv token || true

# A local mirror of the registry, so that terraform init finds the provider that was just built.
mirror=$work/mirror/registry.terraform.io/resilientjob/resilientjob/0.1.0/$(go env GOOS)_$(go env GOARCH)
mkdir -p "$mirror" "$work/config"
ln -s "$root/bin/terraform-provider-resilientjob" "$mirror/terraform-provider-resilientjob_v0.1.0"
cat > "$work/cli.tfrc" <<RC
provider_installation {
  filesystem_mirror { path = "$work/mirror" }
}
RC
cp examples/quickstart/main.tf "$work/config/"
cd "$work/config"
export TF_CLI_CONFIG_FILE=$work/cli.tfrc RESILIENTJOB_EMULATOR_HOST=$host CHECKPOINT_DISABLE=1 TF_IN_AUTOMATION=1
# Nothing of the developer's own cloud may leak into a rehearsal.
unset GOOGLE_PROJECT GOOGLE_CLOUD_PROJECT GOOGLE_REGION GOOGLE_CREDENTIALS GOOGLE_APPLICATION_CREDENTIALS GOOGLE_OAUTH_ACCESS_TOKEN \
  GOOGLE_IMPERSONATE_SERVICE_ACCOUNT TF_WORKSPACE TF_DATA_DIR TF_CLI_ARGS

terraform_shown() { # command and arguments; shows what it did, keeps the rest in a file
  local log=$work/terraform-$1.log
  if ! terraform "$@" -no-color > >(tee "$log" | grep --line-buffered -E '^resilientjob_.*(Creating|Creation complete|Destroying|Destruction complete)|^(Apply|Destroy) complete' | sed -u 's/^/    terraform | /') 2>&1; then
    sed 's/^/    /' "$log" >&2
    fail "terraform $1 failed."
  fi
}

terraform init -no-color > "$work/terraform-init.log" 2>&1 || { sed 's/^/    /' "$work/terraform-init.log" >&2; fail "terraform init failed."; }

say "terraform apply: service account, bucket, grant and job, then one execution of the job"
tail -n 0 -F "$work/emulator.log" 2>/dev/null | sed -u 's/^/    emulator  | /' &
story=$!
terraform_shown apply -auto-approve
wait_for_story() { sleep 0.3; kill "$story" 2>/dev/null || true; wait "$story" 2>/dev/null || true; story=; }
wait_for_story

say "What the data source resilientjob_execution says"
terraform output -no-color | sed 's/^/    /'

say "terraform plan after the run: nothing to do"
terraform plan -detailed-exitcode -no-color > "$work/terraform-plan.log" 2>&1 || { sed 's/^/    /' "$work/terraform-plan.log" >&2; fail "the plan after the run is not empty."; }
grep -E '^No changes' "$work/terraform-plan.log" | sed 's/^/    terraform | /'

say "terraform destroy"
terraform_shown destroy -auto-approve

say "What is left on the emulator"
python3 - "$host" <<'PY'
import json, sys, urllib.request
host, left = sys.argv[1], 0
for what, url, key in [
    ("jobs", "/v2/projects/quickstart/locations/us-central1/jobs", "jobs"),
    ("buckets", "/storage/v1/b?project=quickstart", "items"),
    ("service accounts", "/v1/projects/quickstart/serviceAccounts", "accounts"),
]:
    found = json.load(urllib.request.urlopen(f"http://{host}{url}", timeout=10)).get(key, [])
    left += len(found)
    print(f"    {what}: {len(found)}")
sys.exit(left > 0)
PY
say "Done: one job, interrupted once, finished, and nothing left behind."

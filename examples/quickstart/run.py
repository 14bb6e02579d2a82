#!/usr/bin/env python3
# Copyright (c) The resilientjob authors
# SPDX-License-Identifier: MPL-2.0
"""The main job on the local emulator: apply, be preempted twice in the middle, resume, finish, destroy.

Needs bin/ (make build), terraform and Python 3.9. QUICKSTART_PORT chooses another port than 8085.
QUICKSTART_RELEASE is a folder with the files of a release, which are then used instead of bin/.
"""

import hashlib
import json
import os
import pathlib
import platform
import re
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import time
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
WORK = ROOT / ".quickstart"
REGISTRY = "registry.terraform.io/resilientjob/resilientjob"
PROJECT, REGION = "quickstart", "us-central1"
INTERRUPTIONS = 2
SAVES = 2  # how many checkpoints an attempt writes before it is preempted
START_LIMIT = 30  # seconds until the emulator must be ready

# What terraform prints of interest; all of it is in a file.
DEEDS = re.compile(r"^resilientjob_.*(Creating|Creation complete|Destroying|Destruction complete)|^(Apply|Destroy) complete")


class Failed(Exception):
    """Something that the reader of the message can mend."""


def say(text):
    print(f"\n==> {text}", flush=True)


def show(text, who=""):
    print(f"    {who}{text}".rstrip(), flush=True)


def port():
    text = os.environ.get("QUICKSTART_PORT", "8085")
    if not text.isdecimal() or not 1 <= int(text) <= 65535:
        raise Failed(f"QUICKSTART_PORT={text} is no port number: write one from 1 to 65535.")
    return int(text)


def check_tools():
    if sys.version_info < (3, 9):
        raise Failed(f"This is Python {platform.python_version()}; 3.9 or newer is needed.")
    if not shutil.which("terraform"):
        raise Failed("the terraform command is missing. Install Terraform 1.5 or newer: https://developer.hashicorp.com/terraform/install")


def clear_leftovers():
    """Stops what an earlier run left that was killed, and removes its folder."""
    try:
        old = int((WORK / "emulator.pid").read_text())
        command = subprocess.run(["ps", "-p", str(old), "-o", "args="], capture_output=True, text=True, check=False).stdout
        if "resilientjob-emulator" in command:
            say(f"An earlier quickstart left its emulator running (process {old}): stopping it")
            os.kill(old, signal.SIGTERM)
            for _ in range(150):
                os.kill(old, 0)
                time.sleep(0.1)
            os.kill(old, signal.SIGKILL)
    except (FileNotFoundError, ValueError, ProcessLookupError):
        pass
    shutil.rmtree(WORK, ignore_errors=True)
    for folder in ("config", "tmp"):
        (WORK / folder).mkdir(parents=True)


class Build:
    """The programs that make build wrote."""

    def __init__(self):
        self.version = "0.1.0"
        self.provider = ROOT / "bin" / "terraform-provider-resilientjob"
        self.emulator = ROOT / "bin" / "resilientjob-emulator"
        for binary in (self.provider, self.emulator):
            if not os.access(binary, os.X_OK):
                raise Failed(f"{binary.relative_to(ROOT)} is missing. Run make build first; make quickstart does.")

    def unpack(self):
        """Nothing to do: make build has done it."""

    def mirror(self, folder):
        """Lays the provider into a local mirror of the registry."""
        place = folder / REGISTRY / self.version / "_".join(machine())
        place.mkdir(parents=True)
        (place / f"terraform-provider-resilientjob_v{self.version}").symlink_to(self.provider)


class Release:
    """The archives of a release, as they are published."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder).resolve()
        sums = list(self.folder.glob("terraform-provider-resilientjob_*_SHA256SUMS"))
        if len(sums) != 1:
            raise Failed(f"{self.folder} must hold one release with its SHA256SUMS; there are {len(sums)}.")
        self.version = sums[0].name.split("_")[1]
        self.sums = {name: digest for digest, name in (line.split() for line in sums[0].read_text().splitlines())}
        system, arch = machine()
        ending = "zip" if system == "windows" else "tar.gz"
        self.provider = self._checked(f"terraform-provider-resilientjob_{self.version}_{system}_{arch}.zip")
        self.archive = self._checked(f"resilientjob-emulator_{self.version}_{system}_{arch}.{ending}")
        self.emulator = WORK / "release" / "resilientjob-emulator"

    def _checked(self, name):
        file = self.folder / name
        if not file.exists():
            raise Failed(f"{file} is missing.")
        if hashlib.sha256(file.read_bytes()).hexdigest() != self.sums.get(name):
            raise Failed(f"{name} is not the file that SHA256SUMS tells of.")
        return file

    def unpack(self):
        """Unpacks the emulator."""
        say(f"Using release {self.version} from {self.folder}; the archives are those of SHA256SUMS")
        shutil.unpack_archive(self.archive, self.emulator.parent)

    def mirror(self, folder):
        """Lays the provider's archive into a local mirror of the registry, packed as it is."""
        (folder / REGISTRY).mkdir(parents=True)
        shutil.copy(self.provider, folder / REGISTRY)


def machine():
    """The operating system and the architecture in Go's words."""
    system = {"Darwin": "darwin", "Windows": "windows"}.get(platform.system(), "linux")
    return system, "arm64" if platform.machine().lower() in ("arm64", "aarch64") else "amd64"


class Emulator:
    """The emulator as a child process, whose lines are shown as they come."""

    def __init__(self, program, listen):
        self.address = f"127.0.0.1:{listen}"
        self.lines = []
        self.saves, self.preempted = 0, 0
        self.quiet = True
        training = ROOT / "examples" / "apps" / "checkpointed-training" / "train.py"
        ready = WORK / "token"
        # A session of its own: Ctrl-C comes to this script only, which ends its children in order.
        self.process = subprocess.Popen(
            [program, "--listen", self.address, "--control-token-file", ready,
             "--image", f"*/checkpointed-training*={shlex.join(['python3', str(training)])}"],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            env={**os.environ, "TMPDIR": str(WORK / "tmp")}, start_new_session=True)
        (WORK / "emulator.pid").write_text(str(self.process.pid))
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()
        try:
            self._await(ready, listen)
        except BaseException:
            self.stop()
            raise
        for line in list(self.lines):
            if "token" not in line:
                show(line)
        self.quiet = False

    def _await(self, ready, listen):
        limit = time.monotonic() + START_LIMIT
        while not ready.exists():
            if self.process.poll() is not None or time.monotonic() > limit:
                self.reader.join(1)
                for line in self.lines:
                    show(line)
                raise Failed(f"the emulator did not start. If port {listen} is in use, choose another: QUICKSTART_PORT=18085 make quickstart")
            time.sleep(0.05)

    def _read(self):
        with open(WORK / "emulator.log", "w", encoding="utf-8") as log:
            for line in self.process.stdout:
                log.write(line)
                log.flush()
                self.lines.append(line.rstrip("\n"))
                if not self.quiet:
                    show(self.lines[-1], "emulator  | ")
                    self._interrupt(self.lines[-1])

    def _interrupt(self, line):
        """Plays the maintenance: by the program's progress, so that a slow machine has the same story."""
        if re.search(r"resumed at step \d+", line):
            self.saves = 0  # what the attempt before saved on SIGTERM does not count
        if not re.search(r"step \d+ saved", line):
            return
        self.saves += 1
        if self.saves == SAVES and self.preempted < INTERRUPTIONS:
            self.preempted += 1
            threading.Thread(target=self._preempt, daemon=True).start()

    def _preempt(self):
        try:
            self.get("/control/v1/preempt", (WORK / "token").read_text().strip(), {"job": "train", "task": 0})
        except OSError as error:
            show(f"the preemption failed: {error}")

    def get(self, path, token=None, body=None):
        request = urllib.request.Request(f"http://{self.address}{path}", json.dumps(body).encode() if body else None,
                                         {"Content-Type": "application/json", **({"Authorization": f"Bearer {token}"} if token else {})})
        # No proxy of the environment stands between this machine and itself.
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(request, timeout=10) as answer:
            return json.load(answer)

    def stop(self):
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(15)
            except subprocess.TimeoutExpired:
                self.process.kill()
        self.reader.join(1)


class Terraform:
    """Runs terraform with the provider that was just built or unpacked, and nothing of the user's own cloud."""

    def __init__(self, programs, emulator):
        self.emulator = emulator
        self.config = WORK / "config"
        shutil.copy(ROOT / "examples" / "quickstart" / "main.tf", self.config)
        programs.mirror(WORK / "mirror")
        # A version that is none of a release is taken only when it is asked for.
        (self.config / "version_override.tf").write_text(
            'terraform {\n  required_providers {\n    resilientjob = {\n      source  = "%s"\n      version = "%s"\n    }\n  }\n}\n' % (REGISTRY, programs.version))
        settings = WORK / "cli.tfrc"
        settings.write_text('provider_installation {\n  filesystem_mirror { path = %s }\n}\n' % json.dumps(str(WORK / "mirror")))
        foreign = re.compile(r"^(TF_|GOOGLE_|CLOUDSDK_|RESILIENTJOB_|USER_PROJECT_OVERRIDE$)|_proxy$", re.IGNORECASE)
        self.env = {name: value for name, value in os.environ.items() if not foreign.search(name)}
        self.env.update(TF_CLI_CONFIG_FILE=str(settings), TF_IN_AUTOMATION="1", CHECKPOINT_DISABLE="1",
                        RESILIENTJOB_EMULATOR_HOST=emulator.address)

    def run(self, command, *args, shown=None, may=(0,)):
        """Runs one command to its end and returns its output; shows the lines that match."""
        log = WORK / f"terraform-{command}.log"
        process = subprocess.Popen(["terraform", command, *args], cwd=self.config, env=self.env, text=True, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)
        done = threading.Event()
        threading.Thread(target=self._watch, args=(process, done), daemon=True).start()
        lines = []
        try:
            with open(log, "w", encoding="utf-8") as out:
                for line in process.stdout:
                    out.write(line)
                    lines.append(line)
                    if shown and shown.search(line):
                        show(line.rstrip(), "terraform | ")
            code = process.wait()
        except BaseException:
            # Terraform is told as by Ctrl-C, so that it ends the provider and keeps its state.
            process.send_signal(signal.SIGINT)
            try:
                process.communicate(timeout=20)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
            raise
        finally:
            done.set()
        if self.emulator.process.poll() is not None:
            raise Failed("the emulator ended in the middle of the run.")
        if code not in may:
            first = next((i for i, line in enumerate(lines) if "Error:" in line), 0)
            for line in lines[first:]:
                show(line.rstrip())
            raise Failed(f"terraform {command} failed.")
        return "".join(lines)

    def _watch(self, process, done):
        """Without the emulator there is nothing to wait for."""
        while not done.wait(0.2):
            if self.emulator.process.poll() is not None:
                process.send_signal(signal.SIGINT)
                return


def story(programs, emulator):
    terraform = Terraform(programs, emulator)
    terraform.run("init", "-no-color")

    say("terraform apply: service account, bucket, grant and job, then one execution of the job")
    terraform.run("apply", "-auto-approve", "-no-color", shown=DEEDS)

    say("What the data sources say: resilientjob_execution, resilientjob_interruptions, resilientjob_checkpoints")
    for line in terraform.run("output", "-no-color").splitlines():
        show(line)
    outputs = {name: output["value"] for name, output in json.loads(terraform.run("output", "-json")).items()}
    outcome = outputs["execution"]
    if (outcome["state"], outcome["tasks"][0]["attempts_used"]) != ("succeeded", INTERRUPTIONS + 1):
        raise Failed("the execution was not interrupted twice and finished; the data source above says how it ended.")
    if [i["attempt"] for i in outputs["interruptions"]] != list(reversed(range(INTERRUPTIONS))):
        raise Failed("the logs do not tell of two interruptions.")
    if len(outputs["newest_checkpoints"]) != 1:
        raise Failed("the bucket does not show the newest checkpoint of the task.")
    resumed = [m for m in (re.search(r"resumed at step (\d+)", line) for line in emulator.lines) if m]
    if len(resumed) != INTERRUPTIONS:
        raise Failed("not every attempt resumed from a checkpoint.")

    say("terraform plan after the run")
    plan = terraform.run("plan", "-detailed-exitcode", "-no-color", may=(0, 2))
    if "No changes." not in plan:
        raise Failed(f"the plan after the run is not empty:\n{plan}")
    show("No changes.", "terraform | ")

    say("terraform destroy")
    terraform.run("destroy", "-auto-approve", "-no-color", shown=DEEDS)

    say("What is left on the emulator")
    left = 0
    for what, path, key in (("jobs", f"/v2/projects/{PROJECT}/locations/{REGION}/jobs", "jobs"),
                            ("buckets", f"/storage/v1/b?project={PROJECT}", "items"),
                            ("service accounts", f"/v1/projects/{PROJECT}/serviceAccounts", "accounts")):
        found = len(emulator.get(path).get(key, []))
        left += found
        show(f"{what}: {found}")
    if left:
        raise Failed("terraform destroy left something behind.")
    say(f"Done: one job, interrupted twice, resumed at steps {resumed[0][1]} and {resumed[1][1]}, succeeded after 2 retries, and nothing is left.")


def main():
    def interrupted(number, _frame):
        raise KeyboardInterrupt(number)

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, interrupted)
    emulator, begun = None, False
    try:
        listen = port()
        check_tools()
        release = os.environ.get("QUICKSTART_RELEASE")
        programs = Release(release) if release else Build()
        clear_leftovers()
        begun = True
        programs.unpack()
        say(f"Starting the emulator, a Google Cloud for jobs, on 127.0.0.1:{listen}")
        emulator = Emulator(programs.emulator, listen)
        story(programs, emulator)
        code = 0
    except Failed as why:
        print(f"\nquickstart: {why}", file=sys.stderr)
        code = 1
    except KeyboardInterrupt:
        print("\nquickstart: interrupted; stopping what was started", file=sys.stderr)
        code = 130
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        if emulator:
            emulator.quiet = True
            emulator.stop()
    if not begun:
        return code
    # What the emulator held went with it; what a failed run printed stays to be read.
    (WORK / "emulator.pid").unlink(missing_ok=True)
    if code in (0, 130):
        shutil.rmtree(WORK, ignore_errors=True)
    else:
        print(f"The output of this run is in {WORK}", file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
# Copyright (c) The resilientjob authors
# SPDX-License-Identifier: MPL-2.0
"""The smallest loop that survives interruption."""

import json
import os
import signal
import sys
import time

STEPS = int(os.environ.get("TRAIN_STEPS", "10000"))
SAVE_EVERY = float(os.environ.get("TRAIN_SAVE_EVERY", "600"))  # seconds

interrupted = False


def on_sigterm(_number, _frame):
    global interrupted
    interrupted = True  # only a note: the signal may come in the middle of a save


def task_folder():
    mount = os.environ.get("CHECKPOINT_DIR", "/checkpoints")
    if not os.path.isdir(mount):
        sys.exit(f"{mount} does not exist: is the bucket mounted there?")  # else all would be saved to memory
    folder = os.path.join(mount, "task-" + os.environ.get("CLOUD_RUN_TASK_INDEX", "0"))
    os.makedirs(folder, exist_ok=True)
    return folder


def load(folder):
    """Returns the newest checkpoint that can be read, or the beginning."""
    for name in sorted(os.listdir(folder), reverse=True):
        if name.startswith("step-") and name.endswith(".json"):
            try:
                with open(os.path.join(folder, name), encoding="utf-8") as file:
                    return json.load(file)
            except (OSError, ValueError) as error:
                print(f"{name} cannot be used ({error}): trying the one before", flush=True)
    return {"step": 0, "sum": 0.0}


def save(folder, state):
    """Writes a new file: nobody ever sees half of it under its final name."""
    path = os.path.join(folder, "step-%08d.json" % state["step"])
    with open(path + ".tmp", "w", encoding="utf-8") as file:
        json.dump(state, file)
    # Leaving the block closed the file: on the mount only that makes it an object.
    os.replace(path + ".tmp", path)
    print(f"saved step {state['step']}", flush=True)
    for old in sorted(n for n in os.listdir(folder) if n.endswith(".json"))[:-3]:
        os.remove(os.path.join(folder, old))


def work(state):
    """One step. It must take far less than ten seconds, or look at `interrupted` itself."""
    time.sleep(float(os.environ.get("TRAIN_SECONDS_PER_STEP", "0.01")))
    return {"step": state["step"] + 1, "sum": state["sum"] + 1 / (state["step"] + 1)}


def main():
    signal.signal(signal.SIGTERM, on_sigterm)
    folder = task_folder()
    state = load(folder)
    print(f"starting at step {state['step']}", flush=True)
    saved_at = time.monotonic()
    while state["step"] < STEPS:
        state = work(state)
        if interrupted or time.monotonic() - saved_at >= SAVE_EVERY:
            save(folder, state)
            saved_at = time.monotonic()
        if interrupted:
            return 143  # not 0, which would say that the task is complete
    save(folder, state)
    return 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
# Copyright (c) The resilientjob authors
# SPDX-License-Identifier: MPL-2.0
"""A training program that survives interruption, to be copied.

It works in steps, saves checkpoints on a clock, and resumes from the newest good one. On SIGTERM it saves once more if
the time allows it, and exits with 143, so that Cloud Run starts another attempt. The training itself is a stand-in
(it finds the number 3); everything around it is meant to be kept.

Only Python's standard library is used.
"""

import argparse
import hashlib
import json
import os
import random
import signal
import sys
import time

TARGET = 3.0  # what the stand-in for a training finds
BATCHES = 10  # small pieces of one step


def say(text):
    """Prints a line at once: what waits in a buffer is lost with a killed process."""
    print(text, flush=True)


class Interrupt:
    """Remembers a SIGTERM: Cloud Run sends one about ten seconds before it kills the task.

    The handler only takes note. Whoever works for long looks at `received` every now and then, also inside a step, and
    stops at a place where the state is whole.
    """

    def __init__(self, grace):
        self.received = None  # the signal's name
        self.exit_code = 0
        self.deadline = None  # when SIGKILL is due, on the clock time.monotonic()
        self.grace = grace
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._take_note)

    def _take_note(self, number, _frame):
        if self.received is None:
            self.received = signal.Signals(number).name
            self.exit_code = 128 + number  # 143 for SIGTERM; 0 would mean that the task has succeeded
            self.deadline = time.monotonic() + self.grace

    def sleep(self, seconds):
        """Waits, or returns False soon after a signal."""
        end = time.monotonic() + seconds
        while not self.received:
            left = end - time.monotonic()
            if left <= 0:
                return True
            time.sleep(min(left, 0.1))
        return False


class Damaged(Exception):
    """A checkpoint file cannot be used."""


class Checkpoints:
    """The checkpoints of one task: a folder with one file per saved step, and the file `latest` that names the newest.

    The rules fit a mounted Cloud Storage bucket, and hold on any disk:

    * A checkpoint gets a new name and is never changed once it is complete. In a bucket it exists only from the moment
      when it is closed; fsync would not help there.
    * It ends with a checksum, so that a truncated or damaged one is known, and the one before is used.
    * Only after that the small pointer `latest` is moved to it, by a rename. It always names a complete checkpoint.
    * Each task has a folder of its own: two writers of one object overwrite each other.
    """

    POINTER = "latest"

    def __init__(self, folder, keep):
        self.folder = folder
        self.keep = keep
        self.newest = None  # the step of the newest good checkpoint
        self.write_seconds = 0.0  # how long the last save took
        self.damaged = []
        os.makedirs(folder, exist_ok=True)

    def path(self, step):
        return os.path.join(self.folder, "step-%08d.ckpt" % step)

    def steps(self):
        """The steps that have a file, the newest first."""
        names = set(os.listdir(self.folder))
        try:
            # The list of a mounted folder may be up to a minute old; the pointer may know better.
            with open(os.path.join(self.folder, self.POINTER), encoding="utf-8", errors="replace") as file:
                names.add(file.read().strip())
        except OSError:
            pass  # nothing saved yet, or killed before the first move
        found = []
        for name in names:
            number = name[len("step-"):-len(".ckpt")]
            if number.isdecimal() and name == os.path.basename(self.path(int(number))):
                found.append(int(number))
        return sorted(found, reverse=True)

    def load(self):
        """Returns the state of the newest good checkpoint, or None."""
        for step in self.steps():
            path = self.path(step)
            try:
                state = self._read(path, step)
            except (OSError, Damaged) as error:
                say("checkpoint %s cannot be used (%s): trying the one before" % (path, error))
                self.damaged.append(step)
                continue
            self.newest = step
            say("resumed at step %d from %s" % (step, path))
            return state
        say("no checkpoint in %s: starting at step 0" % self.folder)
        return None

    @staticmethod
    def _read(path, step):
        with open(path, "rb") as file:
            content = file.read()
        data, checksum = content[:-CHECKSUM_SIZE], content[-CHECKSUM_SIZE:]
        if checksum != checksum_of(data):
            raise Damaged("its checksum is wrong, so it is incomplete or damaged")
        try:
            state = json.loads(data)
            if state["step"] == step and isinstance(state["weight"], float):
                return state
        except (ValueError, KeyError, TypeError):
            pass  # made by another program, or by another version of this one
        raise Damaged("it is not a checkpoint of step %d" % step)

    def save(self, state):
        """Writes a checkpoint and tells whether that worked. A failure must not end the training: the next save may work."""
        step, begin = state["step"], time.monotonic()
        path, pointer = self.path(step), os.path.join(self.folder, self.POINTER)
        say("step %d done (found %.6f so far): saving" % (step, state["weight"]))
        try:
            data = json.dumps(state).encode()
            with open(path, "wb") as file:  # leaving this block closes the file: only that completes it
                file.write(data)
                file.write(checksum_of(data))
            with open(pointer + ".new", "w", encoding="utf-8") as file:
                file.write(os.path.basename(path) + "\n")
            os.replace(pointer + ".new", pointer)
        except OSError as error:
            before = "there is none before it" if self.newest is None else "the newest is still step %d" % self.newest
            say("step %d could not be saved (%s): %s" % (step, error, before))
            return False
        self.newest, self.write_seconds = step, time.monotonic() - begin
        self.damaged = [other for other in self.damaged if other != step]
        say("step %d saved to %s" % (step, path))
        self._remove_old()
        return True

    def _remove_old(self):
        """Keeps the last few: more than one, in case the newest turns out to be damaged."""
        good = [step for step in self.steps() if step not in self.damaged]
        for step in self.damaged + good[self.keep:]:
            try:
                os.remove(self.path(step))
            except OSError:
                pass  # it takes some space, and the next save tries again
        self.damaged = []


def checksum_of(data):
    return b"\n" + hashlib.sha256(data).hexdigest().encode() + b"\n"


CHECKSUM_SIZE = len(checksum_of(b""))


def train_step(state, seconds, interrupt):
    """Returns the state after one more step, or None when a signal came in the middle of it.

    What a step computes depends on the state and the step's number only, so that a resumed run sees the same data and
    comes to the same result as one that was never interrupted.
    """
    step, weight = state["step"] + 1, state["weight"]
    for batch in range(BATCHES):
        # Here a real program trains on one batch. It should take far less than the ten seconds between SIGTERM and SIGKILL.
        if not interrupt.sleep(seconds / BATCHES):
            return None
        x = random.Random("%d/%d" % (step, batch)).uniform(-1, 1)
        weight -= 0.1 * (weight - TARGET) * x * x
    return {"step": step, "weight": weight}


def train(options, interrupt):
    """Works until everything is done or a signal came; returns the exit code."""
    checkpoints = Checkpoints(task_folder(options), options.keep)
    state = checkpoints.load() or {"step": 0, "weight": 0.0}
    saved_at = time.monotonic()
    while state["step"] < options.steps:
        after = train_step(state, options.seconds_per_step, interrupt)
        if after is not None:
            state = after
        if state["step"] == options.steps:
            break
        if interrupt.received:
            return interrupted(state, checkpoints, interrupt)
        # By the clock, not by steps: what an interruption costs is time.
        if time.monotonic() - saved_at >= options.save_every:
            checkpoints.save(state)
            saved_at = time.monotonic()
    if state["step"] != checkpoints.newest and not checkpoints.save(state):
        return 1  # the result is lost with this process, and another attempt can make it again
    say("finished: all %d steps are done, the result is %.6f" % (options.steps, state["weight"]))
    return 0


def interrupted(state, checkpoints, interrupt):
    """Saves what there is, if that can be done before SIGKILL. The checkpoints by the clock are the real protection."""
    step, left = state["step"], interrupt.deadline - time.monotonic()
    if step in (0, checkpoints.newest):
        say("interrupted (%s): nothing new to save since step %d" % (interrupt.received, step))
    elif 1.5 * checkpoints.write_seconds > left:
        say("interrupted (%s): saving takes %.1f s, %.1f s are left: not saving step %d"
            % (interrupt.received, checkpoints.write_seconds, left, step))
    else:
        say("interrupted (%s): saving step %d before the end" % (interrupt.received, step))
        checkpoints.save(state)
    say("exiting with code %d, so that another attempt is made" % interrupt.exit_code)
    return interrupt.exit_code


def task_folder(options):
    """One folder per run and task. A retried task has the same index, and so finds its checkpoints again."""
    if not os.path.isdir(options.checkpoint_dir):
        # Making it here would hide a missing mount: everything would be saved to memory, and lost.
        sys.exit("the folder %s does not exist: is the checkpoint bucket mounted there?" % options.checkpoint_dir)
    return os.path.join(options.checkpoint_dir, options.run, "task-" + os.environ.get("CLOUD_RUN_TASK_INDEX", "0"))


def parse(arguments):
    env = os.environ.get
    parser = argparse.ArgumentParser(description="Trains in steps, and survives interruption.")
    parser.add_argument("--steps", type=int, default=env("TRAIN_STEPS", "100"),
                        help="how many steps there are (TRAIN_STEPS, 100)")
    parser.add_argument("--seconds-per-step", type=float, default=env("TRAIN_SECONDS_PER_STEP", "1"),
                        help="how long one takes (TRAIN_SECONDS_PER_STEP, 1)")
    parser.add_argument("--save-every", type=float, default=env("TRAIN_SAVE_EVERY", "10"),
                        help="seconds between two checkpoints (TRAIN_SAVE_EVERY, 10)")
    parser.add_argument("--checkpoint-dir", default=env("CHECKPOINT_DIR", "/checkpoints"),
                        help="where the checkpoint bucket is mounted (CHECKPOINT_DIR, /checkpoints)")
    parser.add_argument("--run", default=env("TRAIN_RUN") or env("CLOUD_RUN_JOB") or "local",
                        help="folder below it; another name starts anew (TRAIN_RUN, the job's name)")
    parser.add_argument("--keep", type=int, default=env("TRAIN_KEEP", "3"),
                        help="how many checkpoints stay (TRAIN_KEEP, 3, at least 2)")
    parser.add_argument("--grace", type=float, default=env("TRAIN_GRACE", "10"),
                        help="seconds between SIGTERM and SIGKILL (TRAIN_GRACE, 10)")
    options = parser.parse_args(arguments)
    if options.steps < 1:
        parser.error("--steps must be 1 or more")
    if options.seconds_per_step < 0 or options.save_every < 0 or options.grace < 0:
        parser.error("--seconds-per-step, --save-every and --grace cannot be negative")
    if options.keep < 2:
        parser.error("--keep must be 2 or more: when the newest checkpoint is damaged, the one before is needed")
    return options


def main(arguments=None):
    options = parse(arguments)
    return train(options, Interrupt(options.grace))


if __name__ == "__main__":
    sys.exit(main())

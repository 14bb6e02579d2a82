# Copyright (c) The resilientjob authors
# SPDX-License-Identifier: MPL-2.0
"""Tests of train.py: python3 -m unittest, in this folder."""

import contextlib
import io
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import train

HERE = os.path.dirname(os.path.abspath(__file__))


class Folder(unittest.TestCase):
    """A test with a folder for checkpoints and a way to see what is printed."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        for name in ("CLOUD_RUN_JOB", "CLOUD_RUN_TASK_INDEX", "CHECKPOINT_DIR", "TRAIN_RUN", "TRAIN_STEPS"):
            self.addCleanup(self._restore, name, os.environ.pop(name, None))
        for number in (signal.SIGTERM, signal.SIGINT):
            self.addCleanup(signal.signal, number, signal.getsignal(number))

    @staticmethod
    def _restore(name, value):
        os.environ.pop(name, None)
        if value is not None:
            os.environ[name] = value

    @contextlib.contextmanager
    def printed(self):
        lines = []
        with contextlib.redirect_stdout(io.StringIO()) as out:
            yield lines
        lines.extend(out.getvalue().splitlines())

    def save(self, *steps, keep=3):
        checkpoints = train.Checkpoints(self.folder, keep)
        with self.printed():
            for step in steps:
                self.assertTrue(checkpoints.save({"step": step, "weight": step / 10}))
        return checkpoints

    def load(self):
        checkpoints = train.Checkpoints(self.folder, 3)
        with self.printed() as lines:
            state = checkpoints.load()
        return state, lines

    def change(self, step, change):
        path = os.path.join(self.folder, "step-%08d.ckpt" % step)
        with open(path, "rb") as file:
            content = file.read()
        with open(path, "wb") as file:
            file.write(change(content))


class TestCheckpoints(Folder):
    def test_nothing_to_load(self):
        state, lines = self.load()
        self.assertIsNone(state)
        self.assertEqual(lines, ["no checkpoint in %s: starting at step 0" % self.folder])

    def test_newest_is_loaded(self):
        self.save(5, 10)
        state, lines = self.load()
        self.assertEqual(state, {"step": 10, "weight": 1.0})
        self.assertEqual(lines, ["resumed at step 10 from %s/step-00000010.ckpt" % self.folder])

    def test_damaged_ones_are_passed_over(self):
        damages = {
            "empty": lambda content: b"",
            "truncated": lambda content: content[:20],
            "truncated by one byte": lambda content: content[:-1],
            "one bit changed": lambda content: bytes([content[0] ^ 1]) + content[1:],
            "longer": lambda content: content + b"\n",
            "another step": lambda content: b'{"step": 9, "weight": 1.0}' + train.checksum_of(b'{"step": 9, "weight": 1.0}'),
            "another program's": lambda content: b"[]" + train.checksum_of(b"[]"),
            "no JSON": lambda content: b"x" + train.checksum_of(b"x"),
        }
        for name, damage in damages.items():
            with self.subTest(name):
                self.save(5, 10)
                self.change(10, damage)
                state, lines = self.load()
                self.assertEqual(state["step"], 5)
                self.assertRegex(lines[0], r"^checkpoint .*step-00000010.ckpt cannot be used \(.+\): trying the one before$")
                self.assertEqual(lines[1], "resumed at step 5 from %s/step-00000005.ckpt" % self.folder)

    def test_missing_one_is_passed_over(self):
        self.save(5, 10)
        os.remove(os.path.join(self.folder, "step-00000010.ckpt"))
        state, lines = self.load()
        self.assertEqual(state["step"], 5)
        self.assertIn("step-00000010.ckpt cannot be used", lines[0])  # the pointer still names it

    def test_all_damaged(self):
        self.save(5, 10)
        for step in (5, 10):
            self.change(step, lambda content: content[:9])
        state, lines = self.load()
        self.assertIsNone(state)
        self.assertEqual(len(lines), 3)
        self.assertIn("starting at step 0", lines[2])

    def test_complete_one_counts_although_the_pointer_did_not_move(self):
        self.save(5, 10)
        with open(os.path.join(self.folder, "latest"), "w", encoding="utf-8") as file:
            file.write("step-00000005.ckpt\n")
        self.assertEqual(self.load()[0]["step"], 10)

    def test_strange_files_and_pointers_do_no_harm(self):
        self.save(5)
        for name in ("step-.ckpt", "step-12.ckpt", "step-0000001x.ckpt", "step-00000077.ckpt.new", "notes"):
            with open(os.path.join(self.folder, name), "w", encoding="utf-8") as file:
                file.write("x")
        for content in (b"", b"\xff\xfe", b"../../etc/passwd\n", b"step-00000009.ckpt"):
            with open(os.path.join(self.folder, "latest"), "wb") as file:
                file.write(content)
            self.assertEqual(self.load()[0]["step"], 5)

    def test_pointer_names_a_complete_checkpoint(self):
        self.save(5, 10)
        with open(os.path.join(self.folder, "latest"), encoding="utf-8") as file:
            self.assertEqual(file.read(), "step-00000010.ckpt\n")

    def test_last_few_are_kept(self):
        self.save(1, 2, 3, 4, 5, keep=2)
        self.assertEqual(sorted(os.listdir(self.folder)), ["latest", "step-00000004.ckpt", "step-00000005.ckpt"])

    def test_damaged_ones_neither_count_nor_stay(self):
        self.save(10, 20, 30)
        self.change(30, lambda content: content[:9])
        checkpoints = train.Checkpoints(self.folder, 2)
        with self.printed():
            checkpoints.load()
            checkpoints.save({"step": 25, "weight": 0.0})
        self.assertEqual(sorted(os.listdir(self.folder)), ["latest", "step-00000020.ckpt", "step-00000025.ckpt"])

    def test_damaged_one_is_saved_again(self):
        self.save(10, 20)
        self.change(20, lambda content: content[:9])
        checkpoints = train.Checkpoints(self.folder, 3)
        with self.printed():
            checkpoints.load()
            checkpoints.save({"step": 20, "weight": 7.0})
        self.assertEqual(self.load()[0], {"step": 20, "weight": 7.0})

    def test_failed_save_is_reported_and_survived(self):
        checkpoints = self.save(5)
        os.mkdir(os.path.join(self.folder, "step-00000010.ckpt"))  # so that it cannot be written
        with self.printed() as lines:
            self.assertFalse(checkpoints.save({"step": 10, "weight": 0.0}))
        self.assertRegex(lines[-1], r"^step 10 could not be saved \(.+\): the newest is still step 5$")
        self.assertEqual(self.load()[0]["step"], 5)


class TestTraining(Folder):
    def run_main(self, *arguments):
        with self.printed() as lines:
            code = train.main(["--checkpoint-dir", self.folder, "--seconds-per-step", "0"] + list(arguments))
        return code, lines

    def test_finishes(self):
        code, lines = self.run_main("--steps", "200")
        self.assertEqual(code, 0)
        self.assertEqual(lines[0], "no checkpoint in %s/local/task-0: starting at step 0" % self.folder)
        self.assertRegex(lines[-1], r"^finished: all 200 steps are done, the result is 3\.000000$")

    def test_run_again_has_nothing_to_do(self):
        self.run_main("--steps", "5")
        code, lines = self.run_main("--steps", "5")
        self.assertEqual(code, 0)
        self.assertEqual(lines[0], "resumed at step 5 from %s/local/task-0/step-00000005.ckpt" % self.folder)
        self.assertEqual(len(lines), 2)

    def test_resumed_run_has_the_same_result(self):
        _, whole = self.run_main("--steps", "30", "--run", "whole")
        for steps in ("7", "19", "30"):
            _, parts = self.run_main("--steps", steps, "--run", "parts")
        self.assertEqual(whole[-1], parts[-1])

    def test_saves_by_the_clock(self):
        _, lines = self.run_main("--steps", "5", "--save-every", "0")
        self.assertEqual(sum(" saved to " in line for line in lines), 5)
        _, lines = self.run_main("--steps", "5", "--save-every", "3600", "--run", "other")
        self.assertEqual(sum(" saved to " in line for line in lines), 1)

    def test_folder_of_job_and_task(self):
        os.environ["CLOUD_RUN_JOB"], os.environ["CLOUD_RUN_TASK_INDEX"] = "trainer", "7"
        self.run_main("--steps", "1")
        self.assertEqual(os.listdir(os.path.join(self.folder, "trainer")), ["task-7"])

    def test_environment_sets_options(self):
        os.environ["CHECKPOINT_DIR"], os.environ["TRAIN_STEPS"] = "/there", "12"
        options = train.parse([])
        self.assertEqual((options.checkpoint_dir, options.steps, options.keep), ("/there", 12, 3))
        self.assertEqual(train.parse(["--steps", "3"]).steps, 3)

    def test_wrong_options_are_refused(self):
        for arguments, want in (
            (["--steps", "0"], "--steps must be 1 or more"),
            (["--steps", "many"], "--steps: invalid int value: 'many'"),
            (["--keep", "1"], "--keep must be 2 or more"),
            (["--save-every", "-1"], "cannot be negative"),
        ):
            with self.subTest(arguments), contextlib.redirect_stderr(io.StringIO()) as err:
                with self.assertRaises(SystemExit):
                    train.parse(arguments)
                self.assertIn(want, err.getvalue())

    def test_missing_mount_is_an_error(self):
        with self.assertRaises(SystemExit) as error:
            train.main(["--checkpoint-dir", os.path.join(self.folder, "missing")])
        self.assertIn("is the checkpoint bucket mounted there?", str(error.exception))
        self.assertEqual(os.listdir(self.folder), [])

    def test_result_that_cannot_be_saved_is_a_failure(self):
        os.makedirs(os.path.join(self.folder, "local", "task-0", "step-00000003.ckpt"))
        code, lines = self.run_main("--steps", "3")
        self.assertEqual(code, 1)
        self.assertIn("step 3 could not be saved", lines[-1])


class TestInterruption(Folder):
    def interrupted(self, step, newest, write_seconds, grace=10):
        checkpoints = train.Checkpoints(self.folder, 3)
        checkpoints.newest, checkpoints.write_seconds = newest, write_seconds
        interrupt = train.Interrupt(grace)
        os.kill(os.getpid(), signal.SIGTERM)
        with self.printed() as lines:
            self.assertEqual(train.interrupted({"step": step, "weight": 0.0}, checkpoints, interrupt), 143)
        self.assertEqual(lines[-1], "exiting with code 143, so that another attempt is made")
        return lines

    def test_saves_when_there_is_time(self):
        lines = self.interrupted(step=4, newest=2, write_seconds=1)
        self.assertEqual(lines[0], "interrupted (SIGTERM): saving step 4 before the end")
        self.assertEqual(self.load()[0]["step"], 4)

    def test_does_not_save_what_takes_too_long(self):
        lines = self.interrupted(step=4, newest=2, write_seconds=30)
        self.assertRegex(lines[0], r"^interrupted \(SIGTERM\): saving takes 30.0 s, (9\.\d|10\.0) s are left: not saving step 4$")
        self.assertIsNone(self.load()[0])

    def test_does_not_save_twice(self):
        for step, newest in ((4, 4), (0, None)):
            lines = self.interrupted(step, newest, write_seconds=1)
            self.assertEqual(lines[0], "interrupted (SIGTERM): nothing new to save since step %d" % step)
            self.assertIsNone(self.load()[0])

    def start(self, *arguments):
        process = subprocess.Popen(
            [sys.executable, os.path.join(HERE, "train.py"), "--checkpoint-dir", self.folder] + list(arguments),
            stdout=subprocess.PIPE, universal_newlines=True)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def test_sigterm_is_seen_inside_a_long_step(self):
        process = self.start("--seconds-per-step", "3600", "--steps", "2")
        process.stdout.readline()
        begin = time.monotonic()
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.stdout.read().splitlines(), [
            "interrupted (SIGTERM): nothing new to save since step 0",
            "exiting with code 143, so that another attempt is made"])
        self.assertEqual(process.wait(), 143)
        self.assertLess(time.monotonic() - begin, 9)

    def test_ctrl_c_saves_too(self):
        process = self.start("--seconds-per-step", "0.001", "--save-every", "0", "--steps", "1000000")
        for line in process.stdout:
            if " saved to " in line:
                break
        process.send_signal(signal.SIGINT)
        self.assertIn("interrupted (SIGINT)", process.stdout.read())
        self.assertEqual(process.wait(), 130)


class SlowFile:
    """A file that takes its time, so that a kill often comes in the middle of a save."""

    def __init__(self, file):
        self.file = file

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.file.close()

    def write(self, data):
        for piece in (data[: len(data) // 2], data[len(data) // 2:]):
            self.file.write(piece)
            self.file.flush()
            time.sleep(0.002)


def slow_open(path, mode="r", **more):
    file = open(path, mode, **more)
    return SlowFile(file) if "w" in mode else file


@unittest.skipUnless(hasattr(os, "fork"), "needs fork")
class TestKilledAHundredTimes(Folder):
    """However it is killed, it resumes from a checkpoint that it had announced, and loses none that it had called saved."""

    KILLS = 100

    def attempt(self, arguments):
        """Starts main in a process of its own, much faster than a new interpreter; returns its id and its output."""
        read, write = os.pipe()
        pid = os.fork()
        if pid == 0:
            code = 99
            try:
                os.close(read)
                sys.stdout = os.fdopen(write, "w")
                train.open = slow_open
                code = train.main(arguments)
            finally:
                os._exit(code)  # not through unittest
        os.close(write)
        return pid, os.fdopen(read)

    def kill_after(self, arguments, seconds, number):
        """Starts an attempt and sends the signal some time after its first words; returns its lines and its wait status."""
        pid, output = self.attempt(arguments)
        with output:
            lines = [output.readline()]
            while not lines[-1].startswith(("resumed", "no checkpoint")):
                lines.append(output.readline())
            time.sleep(seconds)
            os.kill(pid, number)
            lines += output.readlines()
        return [line.rstrip("\n") for line in lines], os.waitpid(pid, 0)[1]

    @staticmethod
    def found(pattern, lines):
        """The step number and the rest of each line that matches."""
        matches = (re.fullmatch(pattern, line) for line in lines)
        return {int(match.group(1)): match.group(2) for match in matches if match}

    def test_resumes_from_an_announced_checkpoint(self):
        seed = random.randrange(10**9)
        chance = random.Random(seed)
        arguments = ["--checkpoint-dir", self.folder, "--seconds-per-step", "0.002", "--save-every", "0.004", "--steps"]
        begun, saved = set(), set()  # the steps whose save was announced, and those that were called saved
        damaged = in_the_middle = 0
        with self.subTest(seed=seed):
            for kill in range(self.KILLS):
                if kill % 7 == 6 and len(saved) > 1:
                    os.truncate(self.file(max(saved)), chance.randrange(60))
                    saved.remove(max(saved))
                    damaged += 1
                number = chance.choice((signal.SIGKILL, signal.SIGTERM))
                lines, status = self.kill_after(arguments + ["1000000"], chance.uniform(0, 0.03), number)

                resumed = self.found(r"resumed at step (\d+) from (.*)", lines)
                self.assertGreaterEqual(max(resumed, default=0), max(saved, default=0), "a saved checkpoint is lost")
                for step, path in resumed.items():
                    self.assertIn(step, begun, "a checkpoint that was never announced")
                    self.assertEqual(path, self.file(step))
                begun.update(self.found(r"step (\d+) (done .*: saving)", lines))
                saved.update(self.found(r"step (\d+) (saved to .*)", lines))
                if number == signal.SIGTERM:
                    self.assertEqual(os.WEXITSTATUS(status), 143, lines)
                    self.assertEqual(lines[-1], "exiting with code 143, so that another attempt is made")
                else:
                    self.assertEqual(os.WTERMSIG(status), signal.SIGKILL, lines)
                    in_the_middle += lines[-1].endswith(": saving")
            # This would mean little if nothing had been damaged, and no kill had come in the middle of a save.
            self.assertGreater(damaged, 0)
            self.assertGreater(in_the_middle, 0)

            steps = str(max(begun) + 3)
            pid, output = self.attempt(arguments + [steps])
            with output:
                last = output.read().splitlines()[-1]
            self.assertEqual(os.waitpid(pid, 0)[1], 0)
            with self.printed() as lines:
                train.main(["--checkpoint-dir", self.folder, "--run", "whole", "--seconds-per-step", "0", "--steps", steps])
            self.assertEqual(last, lines[-1], "the result differs from that of a run without interruption")

    def file(self, step):
        return os.path.join(self.folder, "local", "task-0", "step-%08d.ckpt" % step)


if __name__ == "__main__":
    unittest.main()

# Copyright (c) The resilientjob authors
# SPDX-License-Identifier: MPL-2.0
"""Tests of the guide's programs: python3 -m unittest, in this folder. Without PyTorch a small stand-in takes its place."""

import glob
import importlib.util
import os
import re
import signal
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))


class Program:
    """One program with a folder for its checkpoints."""

    def __init__(self, test, name):
        folder = tempfile.TemporaryDirectory()
        test.addCleanup(folder.cleanup)
        self.folder, self.path = folder.name, os.path.join(HERE, name)
        self.env = {**os.environ, "CHECKPOINT_DIR": self.folder, "CLOUD_RUN_TASK_INDEX": "2", "PYTHONDONTWRITEBYTECODE": "1"}
        if name == "pytorch.py" and importlib.util.find_spec("torch") is None:
            self.env["PYTHONPATH"] = os.path.join(HERE, "standin")

    def start(self, **settings):
        return subprocess.Popen([sys.executable, self.path], env={**self.env, **settings}, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def run(self, **settings):
        process = self.start(**settings)
        said, _ = process.communicate(timeout=120)
        return process.returncode, said

    def interrupt(self, **settings):
        """Starts, sends SIGTERM after the first checkpoint of this attempt, and returns how it ended."""
        process = self.start(**settings)
        said = ""
        for line in process.stdout:
            said += line
            if line.startswith("saved"):
                process.send_signal(signal.SIGTERM)
                break
        rest, _ = process.communicate(timeout=120)
        return process.returncode, said + rest

    def files(self):
        return sorted(os.path.basename(f) for f in glob.glob(os.path.join(self.folder, "task-2", "*")))


def first(pattern, text):
    found = re.search(pattern, text)
    assert found, f"{pattern} is not in: {text}"
    return found.group(1)


class Examples(unittest.TestCase):
    programs = ("plain.py", "pytorch.py")

    def test_interrupted_and_resumed(self):
        for name in self.programs:
            with self.subTest(name):
                p = Program(self, name)
                code, said = p.interrupt(TRAIN_SAVE_EVERY="0", TRAIN_STEPS="1000000")
                self.assertEqual(143, code, said)
                last = int(re.findall(r"saved step (\d+)", said)[-1])
                steps = str(last + 5)
                code, said = p.run(TRAIN_STEPS=steps)
                self.assertEqual(0, code, said)
                self.assertEqual(last, int(first(r"starting at step (\d+)", said)))
                self.assertIn(f"saved step {steps}", said)
                self.assertLessEqual(len(p.files()), 3)

    def test_same_result_as_without_interruption(self):
        for name in self.programs:
            with self.subTest(name):
                whole, parts = Program(self, name), Program(self, name)
                self.assertEqual(0, whole.run(TRAIN_STEPS="12")[0])
                for steps in ("5", "9", "12"):
                    self.assertEqual(0, parts.run(TRAIN_STEPS=steps)[0])
                self.assertEqual(self.content(whole), self.content(parts))

    @staticmethod
    def content(program):
        newest = os.path.join(program.folder, "task-2", program.files()[-1])
        if newest.endswith(".pt"):
            load = "import sys, torch; s = torch.load(sys.argv[1]); print(s['step'], s['model'], s['optimizer'], s['scheduler'])"
            return subprocess.run([sys.executable, "-c", load, newest], env=program.env, text=True, capture_output=True, check=True).stdout
        with open(newest, encoding="utf-8") as file:
            return file.read()

    def test_damaged_checkpoint(self):
        for name in self.programs:
            with self.subTest(name):
                p = Program(self, name)
                for steps in ("3", "6"):
                    self.assertEqual(0, p.run(TRAIN_STEPS=steps)[0])
                newest = os.path.join(p.folder, "task-2", p.files()[-1])
                with open(newest, "r+b") as file:
                    file.truncate(10)
                code, said = p.run(TRAIN_STEPS="8")
                self.assertEqual(0, code, said)
                self.assertIn("cannot be used", said)
                self.assertEqual("3", first(r"starting at step (\d+)", said))

    def test_killed_in_a_save(self):
        """What stands under a temporary name is no checkpoint."""
        for name, suffix in zip(self.programs, ("json", "pt")):
            with self.subTest(name):
                p = Program(self, name)
                self.assertEqual(0, p.run(TRAIN_STEPS="3")[0])
                with open(os.path.join(p.folder, "task-2", f"step-00000009.{suffix}.tmp"), "w", encoding="utf-8") as file:
                    file.write("half")
                code, said = p.run(TRAIN_STEPS="4")
                self.assertEqual((0, "3"), (code, first(r"starting at step (\d+)", said)), said)

    def test_no_mount(self):
        for name in self.programs:
            with self.subTest(name):
                code, said = Program(self, name).run(CHECKPOINT_DIR="/nowhere/at/all")
                self.assertEqual(1, code)
                self.assertIn("is the bucket mounted there?", said)


if __name__ == "__main__":
    unittest.main()

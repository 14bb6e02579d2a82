#!/usr/bin/env python3
# Copyright (c) The resilientjob authors
# SPDX-License-Identifier: MPL-2.0
"""A PyTorch training that survives interruption."""

import os
import shutil
import signal
import sys
import tempfile
import time

import torch

STEPS = int(os.environ.get("TRAIN_STEPS", "10000"))
SAVE_EVERY = float(os.environ.get("TRAIN_SAVE_EVERY", "600"))  # seconds

interrupted = False


def on_sigterm(_number, _frame):
    global interrupted
    interrupted = True


class Training:
    """Everything that the next step depends on is here, and is saved."""

    def __init__(self):
        self.device = "cuda" if torch.cuda.is_available() else "cpu"
        torch.manual_seed(1)
        self.model = torch.nn.Linear(8, 1).to(self.device)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1, momentum=0.9)
        self.scheduler = torch.optim.lr_scheduler.StepLR(self.optimizer, step_size=100, gamma=0.5)
        self.step = 0

    def state(self):
        return {
            "step": self.step,  # also the place in the data: batch() depends on it
            "model": self.model.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "scheduler": self.scheduler.state_dict(),
            "random": torch.get_rng_state(),
        }

    def restore(self, state):
        self.step = state["step"]
        self.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.scheduler.load_state_dict(state["scheduler"])
        torch.set_rng_state(state["random"])

    def batch(self):
        generator = torch.Generator().manual_seed(self.step)  # the same batch again after a restart
        return torch.randn(32, 8, generator=generator).to(self.device)

    def run_step(self):
        x = self.batch()
        loss = (self.model(x) - x.sum(dim=1, keepdim=True)).pow(2).mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.scheduler.step()
        self.step += 1
        return float(loss)


def save(folder, training):
    """Writes to the local disk first, and copies from there in one piece: torch.save straight to a mount has been seen to fail."""
    path = os.path.join(folder, "step-%08d.pt" % training.step)
    with tempfile.NamedTemporaryFile(suffix=".pt") as local:
        torch.save(training.state(), local)
        local.flush()
        shutil.copyfile(local.name, path + ".tmp")
    os.replace(path + ".tmp", path)
    print(f"saved step {training.step}", flush=True)
    for old in checkpoints(folder)[3:]:
        os.remove(os.path.join(folder, old))


def checkpoints(folder):
    """The names of the checkpoints, the newest first."""
    return sorted((n for n in os.listdir(folder) if n.startswith("step-") and n.endswith(".pt")), reverse=True)


def load(folder, training):
    for name in checkpoints(folder):
        try:
            training.restore(torch.load(os.path.join(folder, name), map_location="cpu"))
            return
        except Exception as error:  # a damaged file can fail in many ways; the one before is good
            print(f"{name} cannot be used ({error}): trying the one before", flush=True)


def main():
    signal.signal(signal.SIGTERM, on_sigterm)
    mount = os.environ.get("CHECKPOINT_DIR", "/checkpoints")
    if not os.path.isdir(mount):
        sys.exit(f"{mount} does not exist: is the bucket mounted there?")
    folder = os.path.join(mount, "task-" + os.environ.get("CLOUD_RUN_TASK_INDEX", "0"))
    os.makedirs(folder, exist_ok=True)

    training = Training()
    load(folder, training)
    print(f"starting at step {training.step}", flush=True)
    saved_at, loss = time.monotonic(), None
    while training.step < STEPS:
        loss = training.run_step()
        if interrupted or time.monotonic() - saved_at >= SAVE_EVERY:
            save(folder, training)
            saved_at = time.monotonic()
        if interrupted:
            return 143
    save(folder, training)
    print(f"finished, loss {loss}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())

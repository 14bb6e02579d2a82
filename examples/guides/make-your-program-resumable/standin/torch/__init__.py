# Copyright (c) The resilientjob authors
# SPDX-License-Identifier: MPL-2.0
"""As much of PyTorch as pytorch.py needs, on plain numbers, for machines without it: what is tested there is saving and resuming."""

import pickle
import random

_random = random.Random(0)


def manual_seed(n):
    _random.seed(n)


def get_rng_state():
    return _random.getstate()


def set_rng_state(state):
    _random.setstate(state)


def save(state, file):
    pickle.dump(state, file)


def load(path, map_location=None):
    del map_location
    with open(path, "rb") as file:
        return pickle.load(file)


class Generator:
    def __init__(self):
        self.random = random.Random(0)

    def manual_seed(self, n):
        self.random.seed(n)
        return self


class Rows:
    """A table of numbers that remembers how to blame the model for them."""

    def __init__(self, rows, blame=None):
        self.rows, self.blame = rows, blame

    def to(self, _device):
        return self

    def sum(self, dim, keepdim):
        assert dim == 1 and keepdim
        return Rows([[sum(row)] for row in self.rows])

    def __sub__(self, other):
        return Rows([[a - b for a, b in zip(*pair)] for pair in zip(self.rows, other.rows)], self.blame)

    def pow(self, n):
        assert n == 2
        errors = self.rows
        return Rows([[v * v for v in row] for row in errors], lambda: self.blame(errors))

    def mean(self):
        return Loss(sum(map(sum, self.rows)) / len(self.rows), self.blame)


class Loss:
    def __init__(self, value, blame):
        self.value, self.backward = value, blame

    def __float__(self):
        return self.value


def randn(rows, columns, generator):
    return Rows([[generator.random.gauss(0, 1) for _ in range(columns)] for _ in range(rows)])


class cuda:
    @staticmethod
    def is_available():
        return False


class nn:
    class Linear:
        def __init__(self, inputs, outputs):
            assert outputs == 1
            self.weight = {"w": [_random.uniform(-1, 1) for _ in range(inputs)]}
            self.gradient = [0.0] * inputs

        def to(self, _device):
            return self

        def parameters(self):
            return self

        def state_dict(self):
            return {"w": list(self.weight["w"])}

        def load_state_dict(self, state):
            self.weight = {"w": list(state["w"])}

        def __call__(self, x):
            def blame(errors):
                for i in range(len(self.gradient)):
                    self.gradient[i] = sum(2 * e[0] * row[i] for e, row in zip(errors, x.rows)) / len(x.rows)
            return Rows([[sum(w * v for w, v in zip(self.weight["w"], row))] for row in x.rows], blame)


class optim:
    class SGD:
        def __init__(self, model, lr, momentum):
            self.model, self.lr, self.momentum, self.speed = model, lr, momentum, None

        def zero_grad(self):
            self.model.gradient = [0.0] * len(self.model.gradient)

        def step(self):
            g = self.model.gradient
            self.speed = [self.momentum * s + d for s, d in zip(self.speed or [0.0] * len(g), g)]
            self.model.weight["w"] = [w - self.lr * s for w, s in zip(self.model.weight["w"], self.speed)]

        def state_dict(self):
            return {"lr": self.lr, "speed": self.speed}

        def load_state_dict(self, state):
            self.lr, self.speed = state["lr"], state["speed"]

    class lr_scheduler:
        class StepLR:
            def __init__(self, optimizer, step_size, gamma):
                self.optimizer, self.step_size, self.gamma, self.steps = optimizer, step_size, gamma, 0

            def step(self):
                self.steps += 1
                if self.steps % self.step_size == 0:
                    self.optimizer.lr *= self.gamma

            def state_dict(self):
                return {"steps": self.steps}

            def load_state_dict(self, state):
                self.steps = state["steps"]

"""Seeded random state dicts: what a training script might save, and worse."""
import collections
import collections.abc
import random

import numpy as np
import torch

import made_module
from random_objects import RandomObjects
from random_tensors import RandomTensors

NAMES = ["model", "weight", "layers.0.weight", "layers.1.weight", "state",
         "param_groups", "a", "b", "a.b", "step", "0", "1", "x y", "\u00fc",
         "\U0001f600", "new\nline", "nul\0", "q'\"\\", "k" * 300, "../up",
         "", "."]
# Of other types; DCP keeps what str() makes of them.
ODD_KEYS = [0, 1, 2, -1, 2**63, -2**70, True, None, 1.5, 1e22, float("inf"),
            (1, "t"), (), b"by\n", 2j, torch.float16, torch.Size([1]), ...,
            np.int64(-3), np.float32(0.1), np.True_, np.complex64(1 - 2j),
            torch.device("cuda", 1), range(3), int]


class RandomState:
    """make() gives the state dict of the seed; counts tells what is in it."""

    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.counts = collections.Counter()
        self.tensors = RandomTensors(self.rng, self._count)
        self.objects = RandomObjects(self.rng, self.tensors, self._count)

    def _count(self, kind):
        self.counts[kind] += 1

    def make(self):
        if self.rng.random() < 0.01:
            return {}
        state = self.mapping(self.rng.randint(1, 6), 0)
        if self.rng.random() < 0.15:
            state["optimizer"] = self.optimizer()
        if self.rng.random() < 0.1:
            state["module"] = self.module_state()
        if self.rng.random() < 0.02:
            state["deep"] = self.chain()
        if self.rng.random() < 0.03:
            self.collide(state)
        return state

    def collide(self, state):
        """Gives a second value the key of one that is in a mapping."""
        for key, value in list(state.items()):
            if isinstance(value, collections.abc.Mapping) and value:
                state[f"{key}.{next(iter(value))}"] = self.tensors.plain()

    def key(self):
        if self.rng.random() < 0.12:
            return self.rng.choice(ODD_KEYS)
        if self.rng.random() < 0.5:
            return f"{self.rng.choice('abcdef')}{self.rng.randrange(50)}"
        return self.rng.choice(NAMES)

    def mapping(self, size, depth):
        kind = self.rng.choice([dict] * 5 + [
            collections.OrderedDict, collections.defaultdict,
            made_module.DictWithAttributes])
        if size == 0 and kind is made_module.DictWithAttributes:
            kind = dict  # an empty one looks like any other instance
        self._count(f"container {kind.__name__}")
        made = kind()
        for _ in range(size):
            made[self.key()] = self.value(depth + 1)
        if kind is collections.OrderedDict and self.rng.random() < 0.5:
            made._metadata = collections.OrderedDict({"": {"version": 1}})
        return made

    def sequence(self, size, depth):
        self._count("container list")
        made = [self.value(depth + 1) for _ in range(size)]
        if made and self.rng.random() < 0.2:
            made[self.rng.randrange(size)] = {}
        return made

    def value(self, depth):
        chance = self.rng.random()
        if depth > 4 or chance < 0.65:
            return (self.tensors.make() if self.rng.random() < 0.6
                    else self.objects.make())
        if chance < 0.85:
            return self.mapping(self.rng.randrange(5), depth)
        return self.sequence(self.rng.randrange(5), depth)

    def optimizer(self):
        """Of an optimizer that numbers its parameters."""
        self._count("container optimizer")
        parameters = [torch.nn.Parameter(self.tensors.bits((2, 3),
                                                           torch.float32))
                      for _ in range(3)]
        optimizer = self.rng.choice([
            lambda: torch.optim.Adam(parameters),
            lambda: torch.optim.SGD(parameters, lr=0.1, momentum=0.9)])()
        for parameter in parameters[self.rng.randrange(3):]:
            parameter.grad = torch.ones_like(parameter)
        optimizer.step()
        return optimizer.state_dict()

    def module_state(self):
        self._count("container module")
        module = torch.nn.Sequential(torch.nn.Linear(2, 3),
                                     torch.nn.BatchNorm1d(3))
        module[0].tied = module[0].weight
        return module.state_dict(keep_vars=self.rng.random() < 0.3)

    def chain(self):
        self._count("container deep")
        value = self.tensors.plain()
        for _ in range(60):
            value = ({self.key(): value} if self.rng.random() < 0.7
                     else [value])
        return value

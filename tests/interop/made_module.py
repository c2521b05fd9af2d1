"""A module that exists in this process alone, and classes to save from it.

No other program can import `dcpctl_made_module`. Its classes are pickled in
each of the ways that the pickle protocol has for instances.
"""
import argparse
import collections
import dataclasses
import enum
import sys
import types

import torch

NAME = "dcpctl_made_module"


class Plain:
    """Pickled as a new object and a dict."""

    def __init__(self, **attributes):
        self.__dict__.update(attributes)


class Named:
    """May be in a set that its attributes lead to."""

    def __init__(self, name):
        self.name = name

    def __eq__(self, other):
        return isinstance(other, Named) and self.name == other.name

    def __hash__(self):
        return hash(getattr(self, "name", ""))

    def __reduce__(self):
        return Named, (self.name,), self.__dict__


class Slotted:
    """Its state is a tuple (None, {slot: value})."""

    __slots__ = ("left", "right")

    def __init__(self, left, right):
        self.left = left
        self.right = right


class OwnState:
    """Its state is what it says."""

    def __init__(self, value):
        self.value = value

    def __getstate__(self):
        return [self.value, "state"]

    def __setstate__(self, state):
        self.value, _ = state


class NewArguments:
    """Made with positional and keyword arguments."""

    def __new__(cls, *arguments, **keywords):
        made = super().__new__(cls)
        made.arguments = arguments
        made.keywords = keywords
        return made

    def __getnewargs_ex__(self):
        return self.arguments, self.keywords


class DictWithAttributes(dict):
    pass


class ListWithAttributes(list):
    pass


class TupleOfOwn(tuple):
    pass


class SetOfOwn(set):
    pass


class IntOfOwn(int):
    pass


class StrOfOwn(str):
    pass


class Colour(enum.Enum):
    RED = 1
    BLUE = "blue"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Flags(enum.Flag):
    A = 1
    B = 2
    C = 4


class Outer:
    class Inner:
        def __init__(self, value):
            self.value = value

    class Shade(enum.Enum):
        DARK = (0, 1)


@dataclasses.dataclass
class Data:
    value: object
    more: list


@dataclasses.dataclass(frozen=True)
class FrozenData:
    value: object


class MadeTensor(torch.Tensor):
    pass


class Failure(Exception):
    def __init__(self, message, code):
        super().__init__(message, code)
        self.code = code


class NamespaceOfOwn(argparse.Namespace):
    pass


Point = collections.namedtuple("Point", "x y")


def function(x):
    return x


def _install():
    """Makes everything here pickle as a part of the made module."""
    module = types.ModuleType(NAME)
    for name, value in list(globals().items()):
        if getattr(value, "__module__", None) == __name__:
            setattr(module, name, value)
            value.__module__ = NAME
    for inner in (Outer.Inner, Outer.Shade):
        inner.__module__ = NAME
    sys.modules[NAME] = module


_install()

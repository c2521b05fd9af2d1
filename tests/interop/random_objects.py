"""Seeded random values that are not tensors, as they occur in checkpoints.

A value may hold others, tensors among them; may hold one of them twice; and
may contain itself.
"""
import argparse
import collections
import datetime
import decimal
import fractions
import functools
import math
import pathlib
import random
import re
import types
import uuid

import numpy as np
import torch

import made_module as made

TEXTS = ["", "a", "layers.0.weight", "x" * 255, "y" * 256,
         "\u00fc\u4f60\u597d", "\U0001f600 e\u0301", "line\nbreak\ttab",
         "nul\0inside", "\x7f\x80\x9f", "'single' \"double\" \\back",
         "../../etc", "\u202eright", "\ufeff", "%s {0} $x", "None", "1", " "]
INTS = [0, 1, -1, 255, 256, 65535, 65536, 2**31 - 1, 2**31, -2**31,
        -2**31 - 1, 2**63 - 1, 2**63, -2**63, -2**63 - 1, 2**64, 10**40,
        -10**700, 2**2039, -2**2039, 2**2047, 2**2048 - 1]
FLOATS = [0.0, -0.0, 1.5, -1e-310, 5e-324, 1.7976931348623157e308, math.inf,
          -math.inf, math.nan, -math.nan, 0.1, 1e22, 1e16]
NUMPY_DTYPES = ["<f4", ">f4", "<f8", "<f2", "<c8", "?", "<i1", "<i8", ">i8",
                "<u2", "<M8[ns]", "<m8[s]", "<U3", "S4", "V5",
                [("a", "<i4"), ("b", "<f8", (2,))]]


class RandomObjects:
    def __init__(self, rng, tensors, count):
        self.rng = rng
        self.tensors = tensors
        self.count = count
        self.depth = 0
        self.made = []  # to refer to again

    def make(self):
        """Any value; small when it is deep inside another."""
        kinds = SIMPLE if self.depth > 3 or self.rng.random() < 0.3 else KINDS
        kind = self.rng.choice(kinds)
        self.count("object " + kind.__name__)
        self.depth += 1
        value = kind(self)
        self.depth -= 1
        if kind not in SIMPLE:
            self.made.append(value)
        return value

    def inner(self):
        """What a value holds: a value, a tensor, or one that was there."""
        chance = self.rng.random()
        if chance < 0.2:
            return self.tensors.make()
        if chance < 0.35 and self.made and self.depth:
            return self.rng.choice(self.made[-4:])
        return self.make()

    def several(self, low=0, high=4):
        return [self.inner() for _ in range(self.rng.randint(low, high))]

    # Without others inside.

    def none(self):
        return None

    def boolean(self):
        return self.rng.random() < 0.5

    def integer(self):
        bits = self.rng.randrange(1, 200)
        return self.rng.choice(INTS + [self.rng.getrandbits(bits),
                                       -self.rng.getrandbits(bits)])

    def floating(self):
        return self.rng.choice(FLOATS + [self.rng.uniform(-1e3, 1e3)])

    def complex_number(self):
        return complex(self.rng.choice(FLOATS), self.rng.choice(FLOATS))

    def text(self):
        return self.rng.choice(TEXTS)

    def bytes_value(self):
        return self.rng.choice([
            b"", bytes(range(256)), b"a\n'\"\\", b"q" * 70000,
            self.rng.randbytes(self.rng.randrange(9))])

    def byte_array(self):
        return bytearray(self.bytes_value())

    def range_value(self):
        return range(self.rng.randrange(-3, 3), 9, self.rng.choice([1, 2, -1]))

    def ellipsis(self):
        return self.rng.choice([..., NotImplemented])

    def slice_value(self):
        return slice(*(self.rng.choice([None, number])
                       for number in (1, 2**70, -1)))

    def date_or_time(self):
        zone = datetime.timezone(datetime.timedelta(minutes=330), "IST")
        return self.rng.choice([
            datetime.datetime(2026, 1, 31, 23, 59, 59, 999999),
            datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc),
            datetime.datetime(2000, 2, 29, 1, fold=1, tzinfo=zone),
            datetime.date.max, datetime.time(1, 2, 3, 4, zone),
            datetime.timedelta(-3, 5, 7), zone])

    def enumeration(self):
        return self.rng.choice([
            made.Colour.RED, made.Colour.BLUE, made.Level.HIGH, made.Flags.B,
            made.Flags.A | made.Flags.C, made.Outer.Shade.DARK])

    def exact_number(self):
        return self.rng.choice([
            decimal.Decimal("1.10"), decimal.Decimal("-Infinity"),
            fractions.Fraction(-3, 7), made.IntOfOwn(5)])

    def standard_library(self):
        return self.rng.choice([
            uuid.UUID(int=self.rng.getrandbits(128)),
            pathlib.PurePosixPath("/data/x"), pathlib.PureWindowsPath("c:/x"),
            pathlib.PosixPath("runs/1"), re.compile("a+.*", re.I),
            made.StrOfOwn("own")])

    def random_state(self):
        return self.rng.choice([
            random.Random(self.rng.random()).getstate(),
            np.random.RandomState(self.rng.randrange(99)).get_state(),
            np.random.default_rng(self.rng.randrange(99)),
            np.random.RandomState(3), random.Random(5)])

    def name_of_code(self):
        return self.rng.choice([
            int, len, math.sin, collections.OrderedDict, made.Plain,
            made.function, made.Outer.Inner, torch.nn.Linear, np.float32,
            torch.nn.functional.relu, torch.Tensor, type(None), type(...),
            torch.float32.__class__])

    def torch_value(self):
        return self.rng.choice([
            torch.Size([]), torch.Size([2, 3]), torch.float8_e4m3fn,
            torch.bfloat16, torch.device("cpu"), torch.device("cuda", 1),
            torch.device("meta"), torch.strided, torch.sparse_coo,
            torch.per_tensor_affine])

    def torch_storage(self):
        # Not one of the pool: torch.save refuses a storage of two types.
        tensor = self.tensors.bits((5,), self.rng.choice([torch.float32,
                                                          torch.int64]))
        return self.rng.choice([tensor.untyped_storage, lambda:
                                tensor.storage()])()

    def numpy_array(self):
        dtype = np.dtype(self.rng.choice(NUMPY_DTYPES))
        shape = self.rng.choice([(), (0,), (3,), (2, 3), (2, 0)])
        if dtype.kind == "U":
            return np.full(shape, "\u00e4b", dtype)
        if dtype.kind == "b":
            return np.full(shape, True)
        count = int(np.prod(shape)) * dtype.itemsize
        array = (np.frombuffer(self.rng.randbytes(count), dtype)
                 .reshape(shape).copy())
        if self.rng.random() < 0.3:
            array = np.asfortranarray(array)
        if array.ndim and self.rng.random() < 0.2:
            array = array[..., ::2]
        return array

    def numpy_scalar(self):
        return self.rng.choice([
            np.float32(0.1), np.float64(-0.0), np.int64(-5), np.bool_(True),
            np.complex64(1 - 2j), np.str_("s"), np.bytes_(b"s"),
            np.datetime64("2026-01-01"), np.float16(np.nan), np.uint64(2**63),
            np.dtype("<f8"), np.dtype([("a", "<i4")])])

    # With others inside.

    def tuple_value(self):
        return tuple(self.several())

    def list_value(self):
        return self.several(0, 5)

    def long_list(self):
        return list(range(self.rng.choice([999, 1000, 1001, 2500])))

    def set_value(self):
        items = {1, "a", 2.5, None, (1, ("b",)), b"c", frozenset({7}), -3,
                 made.Colour.RED}
        chosen = self.rng.sample(sorted(items, key=repr),
                                 self.rng.randrange(len(items)))
        return self.rng.choice([set, frozenset, made.SetOfOwn])(chosen)

    def set_that_knows_itself(self):
        named = made.Named("n")
        named.inside = {named, 5}
        return self.rng.choice([named, named.inside])

    def dict_inside(self):
        """In a tuple: outside one it would be taken apart."""
        keys = [1, "a", (2, "b"), None, True, 2.5, b"k", torch.float32]
        return ({key: self.inner() for key in
                 self.rng.sample(keys, self.rng.randrange(5))},)

    def ordered_inside(self):
        ordered = collections.OrderedDict(b=self.inner(), a=self.inner())
        ordered._metadata = {"": {"version": 1}}
        return (ordered, collections.defaultdict(list, x=[self.inner()]),
                collections.Counter("aab"), made.DictWithAttributes(k=1))

    def queue(self):
        return collections.deque(self.several(),
                                 self.rng.choice([None, 3]))

    def named_tuple(self):
        return made.Point(self.inner(), self.inner())

    def own_containers(self):
        own = made.TupleOfOwn(self.several())
        own.note = "n"
        return own

    def namespace(self):
        cls = self.rng.choice([argparse.Namespace, made.NamespaceOfOwn,
                               types.SimpleNamespace, made.Plain])
        return cls(lr=self.floating(), nested=self.inner(), n=self.inner())

    def instance(self):
        return self.rng.choice([
            made.Plain, lambda: made.Slotted(self.inner(), self.inner()),
            lambda: made.OwnState(self.inner()),
            lambda: made.NewArguments(self.inner(), key=self.inner()),
            lambda: made.Outer.Inner(self.inner()),
            lambda: made.Data(self.inner(), self.several()),
            lambda: made.FrozenData(self.inner()),
            lambda: made.Failure("bad", 7),
            lambda: functools.partial(made.function, self.inner())])()

    def module_object(self):
        return self.rng.choice([
            lambda: torch.nn.Linear(2, 3),
            lambda: torch.nn.Sequential(torch.nn.BatchNorm1d(2),
                                        torch.nn.ReLU())])()

    def shared_inside(self):
        value = self.inner()
        return (value, [value, {"again": value}], self.inner(), value)

    def views_inside(self):
        base = self.tensors.base((4, 6))
        return (base, base[1], base.t(), base)

    def tied_parameters_inside(self):
        weight = self.tensors.parameter()
        return made.Plain(encoder=weight, decoder=weight,
                          data=weight.detach())

    def cycle(self):
        """Leads back to itself through a list, a dict or attributes."""
        def through_list():
            inside = [self.inner()]
            value = (inside, self.inner())
            inside.append(value)
            return value

        def through_dict():
            inside = {}
            value = (inside,)
            inside["back"] = value
            return value

        def through_attribute():
            value = made.Plain(name=self.text())
            value.back = [value, {"back": value}]
            return value

        def through_itself():
            value = [1]
            value.append(value)
            return value

        def through_slots():
            value = made.Slotted(None, None)
            value.left = (value,)
            return value
        return self.rng.choice([through_list, through_dict, through_attribute,
                                through_itself, through_slots])()

    def numpy_objects(self):
        array = np.empty(2, dtype=object)
        array[0], array[1] = self.inner(), None
        return array

    def deep(self):
        value = self.inner()
        for _ in range(self.rng.choice([30, 80])):
            value = (value,) if self.rng.random() < 0.5 else [value]
        return (value,)


SIMPLE = [
    RandomObjects.none, RandomObjects.boolean, RandomObjects.integer,
    RandomObjects.floating, RandomObjects.complex_number, RandomObjects.text,
    RandomObjects.bytes_value, RandomObjects.byte_array,
    RandomObjects.range_value, RandomObjects.ellipsis,
    RandomObjects.slice_value, RandomObjects.date_or_time,
    RandomObjects.enumeration, RandomObjects.exact_number,
    RandomObjects.standard_library, RandomObjects.random_state,
    RandomObjects.name_of_code, RandomObjects.torch_value,
    RandomObjects.torch_storage, RandomObjects.numpy_array,
    RandomObjects.numpy_scalar]
KINDS = SIMPLE + [
    RandomObjects.tuple_value, RandomObjects.list_value,
    RandomObjects.long_list, RandomObjects.set_value,
    RandomObjects.set_that_knows_itself, RandomObjects.dict_inside,
    RandomObjects.ordered_inside, RandomObjects.queue,
    RandomObjects.named_tuple, RandomObjects.own_containers,
    RandomObjects.namespace, RandomObjects.instance,
    RandomObjects.module_object, RandomObjects.shared_inside,
    RandomObjects.views_inside, RandomObjects.tied_parameters_inside,
    RandomObjects.cycle, RandomObjects.numpy_objects, RandomObjects.deep]

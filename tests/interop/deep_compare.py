"""Strict comparison of two loaded checkpoints.

first_difference(a, b) walks both objects and returns the path and the kind of
the first difference, or None. Nothing is rounded or converted: tensors and
numbers are compared by their bytes (so NaN payloads and -0.0 count), every
container and object by its exact type. On request, what is one object (or one
storage) in the first must be one in the second, and two must be two.

Run as a script it tests itself: python deep_compare.py
"""
import argparse
import collections
import decimal
import enum
import functools
import struct
import sys

import numpy as np
import torch


ORDER = "key order"  # how a difference of order alone starts
# Of these Python itself may make one where there were two.
NO_IDENTITY = (int, float, complex, str, bytes, range, slice, type(None), type,
               np.generic, np.dtype, torch.dtype, torch.device)
# Equal ones may differ: 1.0 and 1.00, an hour in two time zones.
EXACT_TEXT = ("decimal", "datetime")


def _where(path, text):
    return f"{path}: {text}"


def _name(cls):
    return f"{cls.__module__}.{cls.__qualname__}"


def tensor_bytes(t):
    """The elements of a dense tensor in row-major order, as bytes."""
    # A copy: of one element, any stride counts as contiguous.
    t = (t.detach().resolve_conj().resolve_neg().cpu()
         .clone(memory_format=torch.contiguous_format))
    if t.numel() == 0:
        return b""
    return t.reshape(-1).view(torch.uint8).numpy().tobytes()


class Comparison:
    """One comparison; remembers the pairs it is inside of, for cycles."""

    def __init__(self, strides, order, sharing):
        self.strides = strides
        self.order = order
        self.sharing = sharing
        self.active = set()
        self.twins = {}  # (side, id) -> id on the other side
        self.alive = []  # keeps ids from being used again

    def compare(self, a, b, path):
        if type(a) is not type(b):
            return _where(path, f"type {_name(type(a))} != {_name(type(b))}")
        if self.sharing and _has_identity(a):
            self.alive.append((a, b))
            if not self._are_twins(id(a), id(b)):
                return _where(path, "object shared differently")
        if a is b:
            return None
        pair = (id(a), id(b))
        if pair in self.active:
            return None
        self.active.add(pair)
        try:
            return self._same_type(a, b, path)
        finally:
            self.active.discard(pair)

    def _are_twins(self, a, b):
        """Whether these two have only met each other so far."""
        return (self.twins.setdefault(("first", a), b) == b
                and self.twins.setdefault(("second", b), a) == a)

    def _same_type(self, a, b, path):
        if isinstance(a, torch.Tensor):
            return self._tensors(a, b, path)
        if isinstance(a, np.ndarray):
            return self._arrays(a, b, path)
        if isinstance(a, np.generic):
            same = a.dtype == b.dtype and a.tobytes() == b.tobytes()
            return None if same else _where(path, f"{a!r} != {b!r}")
        if isinstance(a, enum.Enum):
            return None if a is b else _where(path, f"{a!r} != {b!r}")
        if isinstance(a, dict):
            return self._dicts(a, b, path)
        if isinstance(a, (list, tuple, collections.deque)):
            return self._sequences(a, b, path)
        if isinstance(a, (set, frozenset)):
            return self._sets(a, b, path)
        if isinstance(a, float):
            same = struct.pack("<d", a) == struct.pack("<d", b)
            return None if same else _where(path, f"{a!r} != {b!r}")
        if isinstance(a, complex):
            same = (struct.pack("<2d", a.real, a.imag)
                    == struct.pack("<2d", b.real, b.imag))
            return None if same else _where(path, f"{a!r} != {b!r}")
        if isinstance(a, slice):
            return self._sequences((a.start, a.stop, a.step),
                                   (b.start, b.stop, b.step), path)
        if isinstance(a, (type, torch.dtype, torch.layout,
                          torch.memory_format)):
            return None if a is b else _where(path, f"{a!r} != {b!r}")
        if isinstance(a, (torch.UntypedStorage, torch.TypedStorage)):
            return self._storages(a, b, path)
        if type(a).__eq__ is not object.__eq__ and not getattr(
                a, "__dict__", None):
            same = a == b and (type(a).__module__ not in EXACT_TEXT
                               or repr(a) == repr(b))
            return None if same else _where(path, f"{a!r} != {b!r}")
        return (self._attributes(a, b, path)
                or self._reductions(a, b, path))

    def _storages(self, a, b, path):
        if isinstance(a, torch.TypedStorage):
            if a.dtype != b.dtype:
                return _where(path, f"dtype {a.dtype} != {b.dtype}")
            a, b = a.untyped(), b.untyped()
        if self.sharing and a.nbytes() and b.nbytes():
            self.alive.append((a, b))
            if not self._are_twins((a.data_ptr(),), (b.data_ptr(),)):
                return _where(path, "storage shared differently")
        same = bytes(a) == bytes(b)
        return None if same else _where(path, "bytes of the storage")

    def _reductions(self, a, b, path):
        """What pickle would take of an object with a way of its own."""
        if all(getattr(type(a), name) is getattr(object, name)
               for name in ("__reduce__", "__reduce_ex__")):
            return None
        x, y = a.__reduce_ex__(2), b.__reduce_ex__(2)
        return self.compare(x[:3], y[:3], path + ".__reduce__")

    def _tensors(self, a, b, path):
        for what in ("dtype", "layout", "device", "requires_grad",
                     "is_quantized", "is_nested", "shape"):
            if what == "shape" and a.is_nested:
                continue
            x, y = getattr(a, what), getattr(b, what)
            if x != y:
                return _where(path, f"{what} {x} != {y}")
        if a.layout == torch.sparse_coo:
            if a.is_coalesced() != b.is_coalesced():
                return _where(path, "is_coalesced differs")
            return (self.compare(a._indices(), b._indices(), path + ".indices")
                    or self.compare(a._values(), b._values(),
                                    path + ".values"))
        if a.layout != torch.strided:
            x, y = a.to_sparse_coo(), b.to_sparse_coo()
            return self.compare(x, y, path)
        if a.is_quantized:
            if a.qscheme() != b.qscheme():
                return _where(path, f"qscheme {a.qscheme()} != {b.qscheme()}")
            if a.qscheme() == torch.per_tensor_affine:
                x = (a.q_scale(), a.q_zero_point())
                y = (b.q_scale(), b.q_zero_point())
            else:
                x, y = ((t.q_per_channel_scales(), t.q_per_channel_axis(),
                         t.q_per_channel_zero_points()) for t in (a, b))
            return (self.compare(x, y, path + ".quantizer")
                    or self.compare(a.int_repr(), b.int_repr(), path))
        if a.is_nested:
            return self.compare(list(a.unbind()), list(b.unbind()),
                                path + ".unbind()")
        if self.strides and a.stride() != b.stride():
            return _where(path, f"stride {a.stride()} != {b.stride()}")
        if a.is_meta:
            return self._attributes(a, b, path)
        if self.sharing:
            if a.storage_offset() != b.storage_offset():
                return _where(path, "storage_offset differs")
            found = self._storages(a.untyped_storage(), b.untyped_storage(),
                                   path)
            if found:
                return found
        x, y = tensor_bytes(a), tensor_bytes(b)
        if x != y:
            size = a.element_size()
            first = next(i for i in range(len(x)) if x[i] != y[i]) // size
            return _where(path, f"bits of element {first} of {a.numel()}")
        return self._attributes(a, b, path)

    def _arrays(self, a, b, path):
        if a.dtype != b.dtype or a.shape != b.shape:
            return _where(path, f"{a.dtype}{a.shape} != {b.dtype}{b.shape}")
        if a.dtype.hasobject:
            return self.compare(a.ravel().tolist(), b.ravel().tolist(), path)
        return None if a.tobytes() == b.tobytes() else _where(path, "bits")

    def _dicts(self, a, b, path):
        def typed(d):
            return [(_name(type(k)), k) for k in d]
        if collections.Counter(typed(a)) != collections.Counter(typed(b)):
            x = [k for k in typed(a) if k not in typed(b)]
            y = [k for k in typed(b) if k not in typed(a)]
            return _where(path, f"keys: only first {x[:3]}, "
                                f"only second {y[:3]}")
        if self.order and typed(a) != typed(b):
            i = next(i for i, (x, y) in enumerate(zip(typed(a), typed(b)))
                     if x != y)
            return _where(path, f"{ORDER}: position {i} is "
                                f"{list(a)[i]!r} != {list(b)[i]!r}")
        for k in a:
            found = self.compare(a[k], b[k], f"{path}[{k!r}]")
            if found:
                return found
        if isinstance(a, collections.defaultdict):
            found = self.compare(a.default_factory, b.default_factory,
                                 path + ".default_factory")
            if found:
                return found
        return self._attributes(a, b, path)

    def _sequences(self, a, b, path):
        if len(a) != len(b):
            return _where(path, f"length {len(a)} != {len(b)}")
        for i, (x, y) in enumerate(zip(a, b)):
            found = self.compare(x, y, f"{path}[{i}]")
            if found:
                return found
        if isinstance(a, collections.deque) and a.maxlen != b.maxlen:
            return _where(path, f"maxlen {a.maxlen} != {b.maxlen}")
        return self._attributes(a, b, path)

    def _sets(self, a, b, path):
        def typed(s):
            return {(_name(type(x)), x if x == x else "nan") for x in s}
        if typed(a) != typed(b):
            return _where(path, f"{a!r} != {b!r}")
        twins = {x: x for x in b}
        for x in a:
            found = x == x and self.compare(x, twins[x], f"{path}{{{x!r}}}")
            if found:
                return found
        return self._attributes(a, b, path)

    def _attributes(self, a, b, path):
        x, y = getattr(a, "__dict__", {}), getattr(b, "__dict__", {})
        if x or y:
            found = self.compare(x, y, path + ".__dict__")
            if found:
                return found
        slots = [s for c in type(a).__mro__ if c.__module__ != "builtins"
                 for s in _slots(c)]
        for s in slots:
            found = self.compare(getattr(a, s, None), getattr(b, s, None),
                                 f"{path}.{s}")
            if found:
                return found
        return None


def _has_identity(value):
    return not isinstance(value, NO_IDENTITY) and not (
        isinstance(value, tuple) and not value)


def _slots(cls):
    slots = cls.__dict__.get("__slots__", ())
    slots = (slots,) if isinstance(slots, str) else tuple(slots)
    return [s for s in slots if s not in ("__dict__", "__weakref__")]


def first_difference(a, b, strides=False, order=True, sharing=False):
    """Path and kind of the first difference, or None.

    strides: tensors must have equal strides, too.
    order: dicts must have their keys in the same order.
    sharing: objects and storages must be shared alike, tensors have the same
        place in storages of the same bytes.
    """
    return Comparison(strides, order, sharing).compare(a, b, "root")


# ----------------------------------------------------------------- self-test

class _Thing:
    def __init__(self, **kw):
        self.__dict__.update(kw)


class _OtherThing(_Thing):
    pass


class _Slotted:
    __slots__ = ("x",)

    def __init__(self, x):
        self.x = x


class _Key:
    """Equal to all of its kind."""

    def __init__(self, note):
        self.note = note

    def __eq__(self, other):
        return isinstance(other, _Key)

    def __hash__(self):
        return 1


class _Colour(enum.Enum):
    RED = 1
    BLUE = 2


def _float_bits(*bits):
    return torch.tensor(bits, dtype=torch.int32).view(torch.float32)


def _with_attribute(value):
    d = collections.OrderedDict(a=1)
    d._metadata = value
    return d


def _cycle(value):
    x = [value]
    x.append(x)
    return x


def _self_test_pairs():
    """(name, a, b, options, part of the expected difference or None)."""
    t = torch.arange(6.).reshape(2, 3)
    nan = float("nan")
    named = collections.namedtuple("named", "p q")
    yield "equal nest", {"a": [t, (1, "x")]}, {"a": [t.clone(), (1, "x")]}, {}, None
    yield "equal NaN", _float_bits(0x7fc00001), _float_bits(0x7fc00001), {}, None
    yield "NaN payload", _float_bits(0x7fc00001), _float_bits(0x7fc00002), {}, "element 0"
    yield "minus zero", torch.tensor(0.0), torch.tensor(-0.0), {}, "bits"
    yield "float minus zero", 0.0, -0.0, {}, "!="
    yield "equal float NaN", [nan], [float("nan")], {}, None
    yield "one element", t, t + torch.eye(2, 3) * (torch.arange(2.) == 1)[:, None], {}, "element 4 of 6"
    yield "dtype", t, t.double(), {}, "dtype"
    yield "same bits, other dtype", t, t.view(torch.int32), {}, "dtype"
    yield "shape", t, t.reshape(3, 2), {}, "shape"
    yield "empty shape", torch.empty(0, 5), torch.empty(0, 4), {}, "shape"
    yield "requires_grad", t, t.clone().requires_grad_(), {}, "requires_grad"
    yield "parameter", torch.nn.Parameter(t, False), t, {}, "type"
    yield "strides ignored", t, t.t().contiguous().t(), {}, None
    yield "strides asked", t, t.t().contiguous().t(), {"strides": True}, "stride"
    yield "conj", torch.tensor([1 + 2j]).conj(), torch.tensor([1 - 2j]), {}, None
    yield "sparse", t.to_sparse(), (t * 2).to_sparse(), {}, "values"
    yield "sparse and dense", t.to_sparse(), t, {}, "layout"
    yield "tensor attribute", _attribute_tensor(1), _attribute_tensor(2), {}, "__dict__['note']"
    yield "int and bool", [1], [True], {}, "root[0]: type"
    yield "int and float", {"a": 1}, {"a": 1.0}, {}, "root['a']: type"
    yield "list and tuple", [1], (1,), {}, "type"
    yield "tuple and Size", (2, 3), torch.Size((2, 3)), {}, "type"
    yield "namedtuple", named(1, 2), (1, 2), {}, "type"
    yield "dict and OrderedDict", {}, collections.OrderedDict(), {}, "type"
    yield "key type", {1: 0}, {"1": 0}, {}, "keys"
    yield "bool key", {1: 0}, {True: 0}, {}, "keys"
    yield "missing key", {"a": 1}, {"a": 1, "b": 2}, {}, "'b'"
    yield "key order", {"a": 1, "b": 2}, {"b": 2, "a": 1}, {}, "key order: position 0"
    yield "key order ignored", {"a": 1, "b": 2}, {"b": 2, "a": 1}, {"order": False}, None
    yield "inner key order", [{"a": 1, "b": 2}], [{"b": 2, "a": 1}], {}, "root[0]: key order"
    yield "dict attribute", _with_attribute(1), _with_attribute(2), {}, "_metadata"
    yield "list length", [1, 2], [1], {}, "length"
    yield "set", {1, 2}, {1, 3}, {}, "!="
    yield "set element type", {1}, {1.0}, {}, "!="
    yield "set and frozenset", {1}, frozenset({1}), {}, "type"
    yield "deque maxlen", collections.deque([1], 3), collections.deque([1]), {}, "maxlen"
    yield "str", "a", "\u00e4", {}, "!="
    yield "bytes and bytearray", b"x", bytearray(b"x"), {}, "type"
    yield "enum", _Colour.RED, _Colour.BLUE, {}, "!="
    yield "slice", slice(1, 5, 2), slice(1, 5), {}, "[2]"
    yield "complex", 1 + 0j, complex(1, -0.0), {}, "!="
    yield "dtype object", torch.float32, torch.float64, {}, "!="
    yield "device", torch.device("cpu"), torch.device("meta"), {}, "!="
    yield "numpy equal", np.arange(3), np.arange(3), {}, None
    yield "numpy value", np.array([0.0]), np.array([-0.0]), {}, "bits"
    yield "numpy dtype", np.arange(3), np.arange(3.), {}, "int64"
    yield "numpy scalar", np.float32(1), np.float32(2), {}, "!="
    yield "numpy objects", np.array([1, None]), np.array([1, "x"], object), {}, "type"
    yield "object equal", _Thing(a=[1]), _Thing(a=[1]), {}, None
    yield "object attribute", _Thing(a=[1]), _Thing(a=[2]), {}, "__dict__['a'][0]"
    yield "object class", _Thing(a=1), _OtherThing(a=1), {}, "type"
    yield "object slot", _Slotted(1), _Slotted(2), {}, ".x"
    yield "equal cycle", _cycle(1), _cycle(1), {}, None
    yield "cycle", _cycle(1), _cycle(2), {}, "root[0]"
    x, y = [1], [1]
    shared = {"sharing": True}
    yield "shared alike", [x, x, (x,)], [y, y, (y,)], shared, None
    yield "shared and not", [x, x], [y, [1]], shared, "shared differently"
    yield "shared strings", ["a", "a"], ["a", "".join("a")], shared, None
    yield "shared storage", [t, t[0]], [t.clone(), t[0].clone()], shared, "storage"
    yield "views of one storage", [t[0], t[1]], [(s := t.clone())[0], s[1]], shared, None
    yield "other place in a storage", t[0], torch.cat((t[0], t[0]))[3:], shared, "storage_offset"
    yield "partial", functools.partial(int, [1]), functools.partial(int, [2]), {}, "__reduce__"
    yield "exception", ValueError(1), ValueError(2), {}, "__reduce__"
    yield "decimal", decimal.Decimal("1.0"), decimal.Decimal("1.00"), {}, "!="
    yield "namespace", argparse.Namespace(a=t), argparse.Namespace(a=t + 1), {}, "['a']"
    yield "set of objects", {_Key(1)}, {_Key(2)}, {}, "['note']"
    yield "storage", t.untyped_storage(), t[0].clone().untyped_storage(), {}, "storage"
    yield "depth", {"a": [{"b": (t,)}]}, {"a": [{"b": (t + 1,)}]}, {}, "root['a'][0]['b'][0]"


def _attribute_tensor(value):
    t = torch.zeros(1)
    t.note = value
    return t


def self_test(quiet=False):
    """Compare the pairs in both directions; return (passed, failed)."""
    passed = failed = 0
    for name, a, b, options, want in _self_test_pairs():
        for x, y, side in ((a, b, ""), (b, a, " (swapped)")):
            got = first_difference(x, y, **options)
            ok = (got is None if want is None
                  else got is not None and (want in got or side))
            if not quiet:
                print(f"{'ok' if ok else 'FAILED'} compare {name}{side}"
                      + ("" if ok else f": got {got!r}, expected {want!r}"))
            passed += bool(ok)
            failed += not ok
    return passed, failed


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--dcpctl", help="not used; as in the other scripts")
    parser.add_argument("--testdata", help="not used")
    parser.add_argument("--only", help="not used")
    parser.parse_args()
    passed, failed = self_test()
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

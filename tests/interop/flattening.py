"""What PyTorch's flattening (since 2.4) leaves of a state dict.

expected(state) is what torch.load gives after torch_to_dcp and dcp_to_torch:

- A mapping becomes a dict, its keys what str() makes of them, in the same
  order. Two whose keys become the same are one. An empty one is gone.
- A list with a tensor, a mapping or such a list in it becomes a list, without
  the elements at its end that are gone. One that is gone before is {}.
- A plain tensor becomes contiguous, of its own storage, and needs no gradient.
- Everything else, a tuple with tensors in it too, stays what it was.
"""
from collections.abc import Mapping
import dataclasses
import re

import torch

import deep_compare

DECIMAL = re.compile(r"0|-?[1-9][0-9]*")


@dataclasses.dataclass
class Leaf:
    """A value that is one entry, and its place."""

    path: tuple
    value: object

    @property
    def key(self):
        return ".".join(map(str, self.path))


class Conflict(Exception):
    """Entries with keys of their own that want the same place."""


def is_tensor_entry(value):
    """Whether DCP has a form for it; other tensors are kept as objects."""
    return (type(value) in (torch.Tensor, torch.nn.Parameter,
                            torch.nn.Buffer)
            and value.layout == torch.strided and not value.is_quantized
            and not value.is_nested and not value.is_meta
            and not value.is_conj() and not value.is_neg())


def is_open(value, inside=()):
    """Whether a list is taken apart. One that contains itself is not."""
    if not isinstance(value, list) or id(value) in inside:
        return False
    inside = (*inside, id(value))
    return any(isinstance(item, (torch.Tensor, Mapping))
               or is_open(item, inside) for item in value)


def leaves(state):
    """The entries in the order of the state; keys may repeat."""
    found = []

    def visit(value, path):
        if isinstance(value, Mapping):
            for key, item in value.items():
                visit(item, (*path, str(key)))
        elif is_open(value):
            for i, item in enumerate(value):
                visit(item, (*path, i))
        else:
            found.append(Leaf(path, value))

    visit(state, ())
    return found


def collisions(state):
    """Pairs of leaves that get the same key."""
    first = {}
    return [(first[leaf.key], leaf) for leaf in leaves(state)
            if first.setdefault(leaf.key, leaf) is not leaf]


def why_pytorch_cannot(state):
    """Why PyTorch can't convert a sound checkpoint back; "" if it can."""
    lists = {}
    for leaf in leaves(state):
        for i, element in enumerate(leaf.path):
            if isinstance(element, int):
                below = lists.setdefault(leaf.path[:i], {})
                # Whether PyTorch takes the list that it makes apart again.
                below[element] = below.get(element, False) or (
                    is_tensor_entry(leaf.value) or any(
                        isinstance(e, str) for e in leaf.path[i + 1:]))
    if any(len(have) <= max(have) for have in lists.values()):
        return "list with a gap"
    if not all(any(have.values()) for have in lists.values()):
        return "list of nothing but tensors kept as objects"
    return ""


def expected(state, int_keys=False):
    """See above; with a Leaf in place of each value that is an entry.

    int_keys: as dcp_to_torch --int-keys has it. Raises Conflict.
    """
    root = {}
    for leaf in leaves(state):
        _place(root, leaf)
    return _finish(root, int_keys, False)


def _place(root, leaf):
    """Lists are dicts with positions for now."""
    node = root
    for i, element in enumerate(leaf.path):
        is_last = i + 1 == len(leaf.path)
        if type(next(iter(node), element)) is not type(element):
            raise Conflict(leaf.path)  # a dict and a list
        if is_last and element in node:
            raise Conflict(leaf.path)
        node = node.setdefault(element, leaf if is_last else {})
        if isinstance(node, Leaf) and not is_last:
            raise Conflict(leaf.path)  # a value and a container


def _finish(node, int_keys, is_state):
    if isinstance(node, Leaf):
        return node
    made = {element: _finish(item, int_keys, element == "state")
            for element, item in node.items()}
    if made and all(isinstance(element, int) for element in made):
        return [made.get(i, {}) for i in range(max(made) + 1)]
    if int_keys and is_state and all(map(_is_int, made)):
        return {int(key): item for key, item in made.items()}
    return made


def _is_int(key):
    return DECIMAL.fullmatch(key) is not None and -2**63 <= int(key) < 2**63


def difference(want, got, strict, path="root"):
    """Path and kind of the first difference of got from expected(), or None.

    strict: strides, storages and what is shared inside an object count.
    """
    if isinstance(want, Leaf):
        value = want.value
        if is_tensor_entry(value):
            value = value.detach().clone(memory_format=torch.contiguous_format)
            value = value.as_subclass(torch.Tensor)
        found = deep_compare.first_difference(value, got, strides=strict,
                                              sharing=strict)
        return found and path + found.removeprefix("root")
    if type(want) is not type(got):
        return f"{path}: type {type(want)} != {type(got)}"
    if isinstance(want, list):
        want, got = dict(enumerate(want)), dict(enumerate(got))
    typed = [[(type(key), key) for key in keys] for keys in (want, got)]
    if typed[0] != typed[1]:
        return f"{path}: keys {list(want)[:9]} != {list(got)[:9]}"
    for key, item in want.items():
        found = difference(item, got[key], strict, f"{path}[{key!r}]")
        if found:
            return found
    return None

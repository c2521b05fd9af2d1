"""Reads checkpoints with PyTorch 1.13; run by old_pytorch_test.py.

usage: python3 old_pytorch_reader.py LIST, a JSON file of [name, torch.save
file, checkpoint of it]. Prints a line of JSON for each: {"name", "why",
"skip", "entries"}. why: the first difference, or what went wrong, or null.
skip: why this PyTorch can't read the file itself, or null.
"""
import dataclasses
import json
import sys
import warnings

warnings.filterwarnings("ignore")


def allow_unhashable_defaults():
    """Let torch 1.13 be imported by Python 3.11, which forbids them."""
    original = dataclasses._get_field

    def get_field(cls, name, *arguments):
        default = getattr(cls, name, dataclasses.MISSING)
        if isinstance(default, dataclasses.Field):
            default = default.default
        if (type(default).__hash__ is None
                and not isinstance(default, (list, dict, set))):
            type(default).__hash__ = object.__hash__
        return original(cls, name, *arguments)

    dataclasses._get_field = get_field


allow_unhashable_defaults()

import torch  # noqa: E402
import torch.distributed._shard.checkpoint as dcp  # noqa: E402

import check  # noqa: E402
import deep_compare  # noqa: E402


def expected(state):
    """Nothing is flattened: the values under the keys at the top."""
    return {str(key): _expected(value) for key, value in state.items()}


def _expected(value):
    plain = (isinstance(value, torch.Tensor)
             and type(value) in (torch.Tensor, torch.nn.Parameter)
             and value.layout == torch.strided and not value.is_quantized
             and not value.is_conj() and not value.is_neg())
    if not plain:
        return value
    return (value.detach().as_subclass(torch.Tensor)
            .clone(memory_format=torch.contiguous_format))


def target_for(metadata):
    """Zeros for tensors and for objects."""
    return {key: torch.zeros(entry.size, dtype=entry.properties.dtype)
            if isinstance(entry, dcp.metadata.TensorStorageMetadata) else 0
            for key, entry in metadata.state_dict_metadata.items()}


def read(folder):
    reader = dcp.FileSystemReader(folder)
    state = target_for(reader.read_metadata())
    dcp.load_state_dict(state, reader, no_dist=True)
    return state


def judge(file, folder):
    """(why, skip, number of entries)."""
    try:
        state = torch.load(file, map_location="cpu")
    except Exception as e:
        return None, repr(e)[:200], 0
    try:
        got = read(folder)
    except BaseException as e:  # CheckpointException is no Exception
        return (str(e).strip() or repr(e)).splitlines()[-1][:300], None, 0
    return (deep_compare.first_difference(expected(state), got, order=False),
            None, len(got))


def main():
    check.make_classes_importable()
    with open(sys.argv[1]) as file:
        cases = json.load(file)
    for name, file, folder in cases:
        why, skip, entries = judge(file, folder)
        print(json.dumps({"name": name, "why": why, "skip": skip,
                          "entries": entries}), flush=True)


if __name__ == "__main__":
    main()

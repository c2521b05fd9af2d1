"""Write torch.save files in the stream form, the one before PyTorch 1.6.

Usage: python generate_legacy.py OUT_DIR

Needs torch 2.13 or later. The output has the form of the folder `files` that
generate.py writes: OUT_DIR/files/*.legacy.pt and what is in each of them.
Most are written by torch.save; `old_views`, `big_endian` and `unknown_order`
are put together here, because no PyTorch of today writes such files. The
source text that goes with the class of a module is a made-up one.
"""
import io
import json
import pathlib
import pickle
import struct
import sys
import warnings

import torch
import torch.nn as nn

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from generate import (  # noqa: E402
    all_dtypes, describe, ramp, tied, write_index)

warnings.filterwarnings("ignore")

MAGIC_NUMBER = 0x1950a86a20f9469cfc6c
PROTOCOL_VERSION = 1001


def source_of(cls):
    """What PyTorch asks for the file and text of a module's class."""
    if cls is nn.BatchNorm1d:
        raise OSError("a class without source")
    return [f"class {cls.__name__}(Module):\n", "    ...\n"], 1, "layers.py"


def saved(obj, protocol=2):
    buffer = io.BytesIO()
    torch.save(obj, buffer, pickle_protocol=protocol,
               _use_new_zipfile_serialization=False)
    return buffer.getvalue()


def loads(data):
    """Whether PyTorch can read it back, and what it makes of it."""
    try:
        return True, torch.load(io.BytesIO(data), weights_only=False)
    except AttributeError:  # untyped storages: it can write but not read them
        return False, None


class StreamPickler(pickle.Pickler):
    """Gives storages the ids of a table: data_ptr -> (key, items, view)."""

    def __init__(self, file, ids):
        super().__init__(file, protocol=2)
        self.ids = ids

    def persistent_id(self, obj):
        if not isinstance(obj, torch.storage.TypedStorage):
            return None
        key, items, view = self.ids[obj._data_ptr()]
        kind = getattr(torch, obj._pickle_storage_type())
        return "storage", kind, key, "cpu", items, view


def stream(obj, ids, storages, little_endian=True):
    """A stream around obj; storages are (key, items, bytes)."""
    out = io.BytesIO()
    for part in (MAGIC_NUMBER, PROTOCOL_VERSION,
                 {"protocol_version": PROTOCOL_VERSION,
                  "little_endian": little_endian,
                  "type_sizes": {"short": 2, "int": 4, "long": 4}}):
        pickle.dump(part, out, protocol=2)
    StreamPickler(out, ids).dump(obj)
    pickle.dump([key for key, _, _ in storages], out, protocol=2)
    for _, items, data in storages:
        out.write(struct.pack("<q", items) + data)
    return out.getvalue()


def raw(t):
    return t.numpy().tobytes()


def ids_of(**tensors):
    return {t.untyped_storage().data_ptr(): (key, t.numel(), None)
            for key, t in tensors.items()}


def loadable_dtypes():
    return {k: t for k, t in all_dtypes().items() if loads(saved(t))[0]}


def untyped():
    """The dtypes whose storages have no class, some not row-major."""
    tensors = {k: t for k, t in all_dtypes().items() if not loads(saved(t))[0]}
    long = ramp(40).to(torch.uint16)
    return {**tensors, "view": long[5:9], "t": long[:12].reshape(3, 4).t(),
            "scalar": torch.tensor(7, dtype=torch.uint32),
            "empty": torch.empty(0, 3, dtype=torch.uint64)}


def strided():
    base = torch.arange(60.)
    return {
        "base": base, "middle": base[7:11], "t": base[:12].reshape(3, 4).t(),
        "column": base.reshape(6, 10)[:, 3], "expanded": base[5].expand(2, 3),
        "scalar": base[9], "empty": base[4:4], "last": base[59:],
        "block": base.reshape(3, 4, 5)[1:, ::2, 1:4],
        "channels_last": ramp(2, 3, 2, 2).to(
            memory_format=torch.channels_last),
        "bits": torch.tensor([0x7fc00001, -4119739, -2147483648, 1],
                             dtype=torch.int32).view(torch.float32),
        "halves": ramp(3, 3, dtype=torch.bfloat16)[1:, 1:],
        "truth": torch.tensor([[True, False], [False, True]]).t(),
        "no_items": torch.empty(3, 0), "zero_d": torch.tensor(3),
    }


def net():
    layers = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2))
    with torch.no_grad():
        for i, p in enumerate(layers.parameters()):
            p.copy_(ramp(*p.shape) + i)
    return layers


def state():
    model = net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5, momentum=0.9)
    for p in model.parameters():
        p.grad = torch.ones_like(p)
    optimizer.step()
    return {"model": model.state_dict(), "optim": optimizer.state_dict(),
            "param": nn.Parameter(ramp(2, 2)), "fixed": nn.Parameter(
                ramp(2), requires_grad=False),
            "leaf": ramp(3).requires_grad_(), "epoch": 2, "lr": [0.1, 0.2]}


def held():
    """Storages inside of objects."""
    shared = ramp(6)
    return {"pair": (shared[2:4], "x"), "shared": shared,
            "typed": ramp(3).storage(),
            "set_of": {"inner": (ramp(2, dtype=torch.float64),)}}


def quantized():
    t = ramp(2, 3) / 10
    return {"q8": torch.quantize_per_tensor(t, 0.1, 3, torch.qint8),
            "u8": torch.quantize_per_tensor(t, 0.1, 3, torch.quint8),
            "i32": torch.quantize_per_tensor(t, 0.1, 3, torch.qint32),
            "channels": torch.quantize_per_channel(
                t, torch.tensor([0.1, 0.2]), torch.tensor([0, 1]), 0,
                torch.qint8), "w": t}


def sparse():
    coo = torch.sparse_coo_tensor([[0, 1], [1, 0]], [1., 2.], (2, 2))
    return {"coo": coo, "csr": coo.to_sparse_csr(), "w": ramp(2)}


def conj():
    c = torch.tensor([1 + 2j, 3 - 1j])
    return {"conj": c.conj(), "neg": c.clone().conj().imag, "plain": c}


def old_views():
    """Storages that are views of another, as PyTorch before 0.4 has them.

    Reading one back gives `left` and `right` storages of their own.
    """
    root = ramp(12)
    left, right = root[2:6].clone(), root[6:12].clone()
    obj = {"root": root, "left": left, "right": right.reshape(2, 3).t(),
           "second": left[1:3], "held": (right[3:], "x"),
           "other": ramp(2, dtype=torch.float64)}
    ids = ids_of(root=root, other=obj["other"])
    ids[left.untyped_storage().data_ptr()] = "root", 12, ("left", 2, 4)
    ids[right.untyped_storage().data_ptr()] = "root", 12, ("right", 6, 6)
    return stream(obj, ids, [("other", 2, raw(obj["other"])),
                             ("root", 12, raw(root))])


def big_endian():
    """From a big-endian machine, which writes elements little-endian."""
    obj = {"f": ramp(3), "i": torch.tensor([1, -2, 3], dtype=torch.int16),
           "d": ramp(2, dtype=torch.float64), "b": torch.tensor([True, False])}
    return stream(obj, ids_of(**obj), [(k, t.numel(), raw(t))
                                       for k, t in obj.items()], False)


def unknown_order():
    """The same, with elements that such machines do not turn around."""
    c, w = torch.tensor([1 + 2j, 3 - 1j]), ramp(2)
    return stream({"c": c, "w": w}, ids_of(c=c, w=w),
                  [("c", 2, raw(c)), ("w", 2, raw(w))], False)


def put(folder, want, name, data, obj=None):
    """Write a file, and what PyTorch loads from it or else from a zip."""
    (folder / name).write_bytes(data)
    can_load, value = loads(data)
    if not can_load:
        archive = io.BytesIO()
        torch.save(obj, archive)
        value = loads(archive.getvalue())[1]
    if isinstance(value, dict):
        want[name] = describe(value)
    else:
        want[name] = {"": {"kind": "object", "repr": "",
                           "type": type(value).__name__}}


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    target = pathlib.Path(sys.argv[1])
    folder = target / "files"
    folder.mkdir(parents=True, exist_ok=True)
    torch.serialization.get_source_lines_and_file = source_of
    want = {}
    cases = {"typed": loadable_dtypes(), "untyped": untyped(),
             "strided": strided(), "state": state(), "tied": tied(),
             "held": held(),
             "held_untyped": {"s": ramp(2).untyped_storage(), "w": ramp(3)},
             "quantized": quantized(), "sparse": sparse(), "conj": conj(),
             "bare": ramp(3), "list": [ramp(2), 1], "module": net(),
             "storage": ramp(2).storage(),
             "modules": {"net": net(), "more": [net(), ramp(2)]}}
    for name, obj in cases.items():
        put(folder, want, name + ".legacy.pt", saved(obj), obj)
    for protocol in (3, 4, 5):
        put(folder, want, f"protocol{protocol}.legacy.pt",
            saved({"w": ramp(2), "s": "x", "t": (1, 2, 3, 4)}, protocol))
    two = saved({"first": ramp(2)}) + saved({"second": ramp(3)})
    put(folder, want, "two.legacy.pt", two)
    for make in (old_views, big_endian, unknown_order):
        put(folder, want, make.__name__ + ".legacy.pt", make())
    (folder / "expected.json").write_text(json.dumps(
        {"torch": torch.__version__, "files": want}, indent=1, default=str))
    write_index(target, {})


if __name__ == "__main__":
    main()

"""Write checkpoints that are unusual, damaged or hostile.

Usage: python generate_odd.py OUT_DIR

Needs torch 2.13 or later and the zstandard package. Every case is a folder;
OUT_DIR/index.json says for each why it is there and what must happen:

why               the reason in one line
case_id           the rule it belongs to
expect            "ok", "error", or "any" (anything but a crash)
path              what to give to the program (default "ckpt")
command           the command to run (default "dcp_to_torch")
args              more options of that command
message_contains  words of the message; "a|b" stands for either
verify            exit statuses of "verify --payload" (default by expect)

Cases of dcp_to_torch that must work have an expected.json like the others.
Nothing here is random: the same torch writes the same bytes.
"""
import copyreg
import io
import json
import os
import pathlib
import pickle
import pickletools
import shutil
import struct
import sys
import tarfile
import types
import zipfile

import torch
import zstandard
from torch.distributed.checkpoint.filesystem import _StorageInfo
from torch.distributed.checkpoint.metadata import (
    BytesStorageMetadata, ChunkStorageMetadata, Metadata, MetadataIndex,
    StorageMeta, TensorProperties, TensorStorageMetadata)

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from generate import describe, ramp  # noqa: E402

SAVE_ID = "00000000-0000-4000-8000-000000000000"
PROBE = "touch dcpctl_ran_this"  # leaves a file where code was run
CASES = {}


def case(why, case_id, expect, contains=(), **more):
    """Register the function under its name as a case."""
    def register(function):
        entry = {"why": why, "case_id": case_id, "expect": expect}
        if contains:
            entry["message_contains"] = list(contains)
        entry.update(more)
        CASES[function.__name__] = (function, entry)
        return function
    return register


# --------------------------------------------------------- pieces of archives

def saved(obj, **kw):
    """The bytes of torch.save(obj): one item of a data file."""
    buffer = io.BytesIO()
    torch.save(obj, buffer, **kw)
    return buffer.getvalue()


def records(item):
    """Name -> bytes of the records of an item, in order."""
    with zipfile.ZipFile(io.BytesIO(item)) as archive:
        return {i.filename: archive.read(i) for i in archive.infolist()}


def zipped(members, compression=zipfile.ZIP_STORED, zip64=False):
    """An archive of these records as Python's zipfile writes it."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, data in members.items():
            info = zipfile.ZipInfo(name)
            info.compress_type = compression
            with archive.open(info, "w", force_zip64=zip64) as record:
                record.write(data)
    return buffer.getvalue()


def plain_members(item):
    """Records without the one that promises PyTorch's own zip layout."""
    return {k: v for k, v in records(item).items()
            if not k.endswith(("/.format_version", "/.storage_alignment"))}


def pickle_item(data_pkl):
    """An item whose data.pkl is given byte by byte."""
    return zipped({"archive/data.pkl": data_pkl, "archive/version": b"3\n"})


def text_opcode(text):
    """BINUNICODE."""
    data = text.encode()
    return b"X" + struct.pack("<I", len(data)) + data


# ------------------------------------------------------------ pieces of DCP

def whole(t):
    return [((0,) * t.dim(), tuple(t.shape))]


def rows(t, *counts):
    """Boxes that cut a tensor along its first dimension."""
    out, start = [], 0
    for n in counts:
        out.append(((start,) + (0,) * (t.dim() - 1), (n, *t.shape[1:])))
        start += n
    return out


def box_of(t, box):
    for dim, (offset, size) in enumerate(zip(*box)):
        t = t.narrow(dim, offset, size)
    return t.clone()


class Checkpoint:
    """A DCP directory put together by hand."""

    def __init__(self):
        self.files = {}
        self.metadata = Metadata(
            state_dict_metadata={}, planner_data={}, storage_data={},
            storage_meta=StorageMeta(save_id=SAVE_ID), version="1.0.0")

    def put(self, index, item, file, transforms=None):
        data = self.files.setdefault(file, bytearray())
        self.metadata.storage_data[index] = _StorageInfo(
            file, len(data), len(item), transforms)
        data += item

    def tensor(self, key, t, boxes=None, file=None, path=None, items=None,
               transforms=None, size=None):
        """Add a tensor; chunk i goes to file __i_0.distcp by default."""
        boxes = whole(t) if boxes is None else boxes
        self.metadata.state_dict_metadata[key] = TensorStorageMetadata(
            TensorProperties(dtype=t.dtype), torch.Size(size or t.shape),
            [ChunkStorageMetadata(torch.Size(o), torch.Size(s))
             for o, s in boxes])
        self.metadata.planner_data[key] = path or tuple(key.split("."))
        for i, box in enumerate(boxes):
            item = items[i] if items else saved(box_of(t, box))
            self.put(MetadataIndex(key, torch.Size(box[0]), i), item,
                     file or f"__{i}_0.distcp", transforms)
        return self

    def object(self, key, value, path=None, item=None):
        """Add a value that is not a tensor."""
        self.metadata.state_dict_metadata[key] = BytesStorageMetadata()
        self.metadata.planner_data[key] = path or tuple(key.split("."))
        self.put(MetadataIndex(key), item or saved(value), "__0_0.distcp")
        return self

    def info(self, key, chunk=0):
        """The storage record of a chunk."""
        found = [v for k, v in self.metadata.storage_data.items()
                 if k.fqn == key]
        return found[chunk]

    def write_data(self, directory):
        for name, data in self.files.items():
            file = directory / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(data)

    def write(self, directory, metadata=None):
        """Write data files and .metadata (given bytes, or pickled)."""
        directory.mkdir(parents=True, exist_ok=True)
        self.write_data(directory)
        if metadata is None:
            metadata = pickle.dumps(self.metadata, protocol=4)
        (directory / ".metadata").write_bytes(metadata)


W, B = ramp(4, 6), ramp(6) + 100
STATE = {"model": {"w": W, "b": B}, "step": 3}


def base(**kw):
    """The small checkpoint that most cases start from; w is in two chunks."""
    return (Checkpoint().tensor("model.w", W, rows(W, 2, 2), **kw)
            .tensor("model.b", B).object("step", 3))


def with_item(item_of_w):
    """The base, with w in one chunk that is stored as this item."""
    return (Checkpoint().tensor("model.w", W, items=[item_of_w])
            .tensor("model.b", B).object("step", 3))


def fake_module(name):
    """An importable module that exists only while the data is written."""
    for i, letter in enumerate(name + "."):
        if letter == ".":
            sys.modules.setdefault(name[:i], types.ModuleType(name[:i]))
    return sys.modules[name]


def fake_class(module, name, **attributes):
    cls = type(name, (), {"__module__": module, **attributes})
    setattr(fake_module(module), name, cls)
    return cls


# ------------------------------------------------ layouts that must be read

@case("data files in sub-folders", "C28", "ok")
def s3_subfolders(out):
    checkpoint = base()
    prefix = "1000000000/epoch_1/"
    checkpoint.files = {prefix + k: v for k, v in checkpoint.files.items()}
    for info in checkpoint.metadata.storage_data.values():
        info.relative_path = prefix + info.relative_path
    checkpoint.write(out / "ckpt")
    return STATE


@case("a list of twelve tensors keeps its order", "C69", "ok")
def int_list12(out):
    tensors = [ramp(2) + 10 * i for i in range(12)]
    checkpoint = Checkpoint()
    for i in sorted(range(12), key=str):  # the order of text: 0, 1, 10, 11, 2
        checkpoint.tensor(f"k.{i}", tensors[i], path=("k", i))
    checkpoint.write(out / "ckpt")
    return {"k": tensors}


def dotted(out, path):
    key = "optimizer.state.a.b.exp_avg"
    Checkpoint().tensor(key, B, path=path).write(out / "ckpt")
    state = B
    for part in reversed(path):
        state = {part: state}
    return state


@case("dots inside a path element: two elements", "C67", "ok")
def dotted_paths_a(out):
    return dotted(out, ("optimizer", "state.a.b.exp_avg"))


@case("the same flat key with four path elements", "C67", "ok")
def dotted_paths_b(out):
    return dotted(out, ("optimizer", "state", "a.b", "exp_avg"))


@case("keys of any length and with any characters", "C110", "ok")
def odd_keys(out):
    keys = ["k" * 300, "a/b/c", "two words", "quote\"s 'n' `ticks`",
            "new\nline", "tab\tbed", "\x1b[31mred\x1b[0m", "\u4e2d\u6587",
            "\U0001f600", "e\u0301", "back\\slash", "", ".", "..", "a..b",
            "/abs", "nul\0in", "%s%n", "*", "{}", "\u202egnp.exe", "-q"]
    checkpoint = Checkpoint()
    state = {}
    for i, key in enumerate(keys):
        state[key] = torch.full((2,), float(i))
        checkpoint.tensor(key, state[key], path=(key,))
    checkpoint.write(out / "ckpt")
    return state


@case("the storage of an item is larger than its tensor", "C61", "ok")
def storage_view(out):
    floats = torch.arange(100.)
    view = floats[3:8]
    (Checkpoint().tensor("v", view, items=[saved(view)])
     .tensor("b", B).write(out / "ckpt"))
    return {"v": view, "b": B}


@case("an item with deflated records", "torch.load reads it", "ok")
def deflated_item(out):
    item = zipped(plain_members(saved(W)), zipfile.ZIP_DEFLATED)
    with_item(item).write(out / "ckpt")
    return STATE


@case("an item without data descriptors", "torch.load reads it", "ok")
def no_descriptor_item(out):
    with_item(zipped(plain_members(saved(W)))).write(out / "ckpt")
    return STATE


@case("an item whose local headers have zip64 fields", "C85", "ok")
def zip64_item(out):
    with_item(zipped(plain_members(saved(W)), zip64=True)).write(out / "ckpt")
    return STATE


@case("an item saved without checksums", "a stored CRC of 0", "ok")
def nocrc_item(out):
    torch.serialization.set_crc32_options(False)
    item = saved(W)
    torch.serialization.set_crc32_options(True)
    with_item(item).write(out / "ckpt")
    return STATE


@case("an item with nothing but data.pkl, version and the data", "C103", "ok")
def bare_item(out):
    keep = ("data.pkl", "data/0", "version")
    members = {k: v for k, v in records(saved(W)).items() if k.endswith(keep)}
    with_item(zipped(members)).write(out / "ckpt")
    return STATE


@case("an item of a big-endian machine", "byteorder record", "ok")
def big_endian_item(out):
    members = plain_members(saved(W))
    members["archive/byteorder"] = b"big"
    data = members["archive/data/0"]
    members["archive/data/0"] = struct.pack(
        f">{len(data) // 4}f", *struct.unpack(f"<{len(data) // 4}f", data))
    with_item(zipped(members)).write(out / "ckpt")
    return STATE


@case("an item that names a GPU as its place", "location is ignored", "ok")
def cuda_item(out):
    members = plain_members(saved(W))
    before = members["archive/data.pkl"]
    after = before.replace(text_opcode("cpu"), text_opcode("cuda:0"))
    assert before != after
    members["archive/data.pkl"] = after
    with_item(zipped(members)).write(out / "ckpt")
    return STATE


class StateOverride(pickle.Pickler):
    """Pickles _StorageInfo objects with a chosen state."""

    def __init__(self, file, states):
        super().__init__(file, protocol=4)
        self.states = states

    def reducer_override(self, obj):
        if isinstance(obj, _StorageInfo):
            return copyreg.__newobj__, (_StorageInfo,), self.states[id(obj)]
        return NotImplemented


@case("storage records of 3 keys, of 4 with None, of 4 with a list", "C20",
      "ok")
def infostate_variants(out):
    checkpoint = Checkpoint()
    compressor = zstandard.ZstdCompressor(write_content_size=False)
    compressed = compressor.compress(saved(W))
    state = {"three": W, "none": W + 1, "zstd": W, "empty": W + 2}
    for key, t in state.items():
        checkpoint.tensor(
            key, t, items=[compressed if key == "zstd" else saved(t)])
    tails = {"three": {}, "none": {"transform_descriptors": None},
             "zstd": {"transform_descriptors": ["stream.zstd/1"]},
             "empty": {"transform_descriptors": []}}
    states = {}
    for index, info in checkpoint.metadata.storage_data.items():
        states[id(info)] = {
            "relative_path": info.relative_path, "offset": info.offset,
            "length": info.length, **tails[index.fqn]}
    buffer = io.BytesIO()
    StateOverride(buffer, states).dump(checkpoint.metadata)
    checkpoint.write(out / "ckpt", buffer.getvalue())
    return state


@case("a newer version, unknown attributes and classes", "C23", "ok")
def unknown_attr(out):
    checkpoint = base()
    thing = fake_class("acme.trainer", "Provenance")()
    thing.host = "n1"
    thing.steps = [1, 2]
    checkpoint.metadata.version = "9.1"
    checkpoint.metadata.acme_provenance = thing
    tensor = checkpoint.metadata.state_dict_metadata["model.w"]
    tensor.__dict__["acme_note"] = ("kept", thing)
    checkpoint.write(out / "ckpt")
    return STATE


@case("the attribute that Megatron-Core adds", "C23", "ok")
def mcore_data(out):
    checkpoint = base()
    checkpoint.metadata.mcore_data = {
        "model.w": {"nd_reformulated_orig_global_shape": (4, 6)}}
    checkpoint.write(out / "ckpt")
    return STATE


def with_checkpoint_id(out, module, name):
    checkpoint = base()
    checkpoint.metadata.storage_meta.checkpoint_id = pathlib.PosixPath(
        "runs/step-1")
    data = pickle.dumps(checkpoint.metadata, protocol=3)
    old = b"cpathlib\nPosixPath\n"
    assert old in data
    checkpoint.write(out / "ckpt", data.replace(
        old, f"c{module}\n{name}\n".encode()))
    return STATE


@case("saved on Windows: the path class is WindowsPath", "path class", "ok")
def windows_path(out):
    return with_checkpoint_id(out, "pathlib", "WindowsPath")


@case("saved by CPython 3.13: the path class is in pathlib._local",
      "path class", "ok")
def pathlib_local(out):
    return with_checkpoint_id(out, "pathlib._local", "PosixPath")


def register_protocols():
    def add(protocol, optimized):
        def function(out):
            checkpoint = base()
            data = pickle.dumps(checkpoint.metadata, protocol=protocol)
            if optimized:
                data = pickletools.optimize(data)
            checkpoint.write(out / "ckpt", data)
            return STATE
        why = f".metadata in pickle protocol {protocol}"
        function.__name__ = f"protocol{protocol}_metadata"
        if optimized:
            why += ", without needless memo entries"
            function.__name__ = f"protocol{protocol}_optimized_metadata"
        case(why, "pickle protocol", "ok")(function)

    for protocol in range(6):
        add(protocol, False)
        add(protocol, True)


register_protocols()


# ------------------------------------------- metadata and data that disagree

@case("the chunks cover half of a tensor", "C14", "error", ["model.w"],
      verify=[1])
def gap_chunk(out):
    checkpoint = base()
    tensor = checkpoint.metadata.state_dict_metadata["model.w"]
    del tensor.chunks[1]
    for index in list(checkpoint.metadata.storage_data):
        if index.fqn == "model.w" and index.index == 1:
            del checkpoint.metadata.storage_data[index]
    checkpoint.write(out / "ckpt")


@case("a chunk that no storage record belongs to", "C12", "error",
      ["model.w"], verify=[1])
def no_storage_entry(out):
    checkpoint = base()
    for index in list(checkpoint.metadata.storage_data):
        if index.fqn == "model.w" and index.index == 1:
            del checkpoint.metadata.storage_data[index]
    checkpoint.write(out / "ckpt")


@case("two chunks overlap and a row is missing", "C14", "error", ["model.w"],
      verify=[1])
def overlap(out):
    boxes = [((0, 0), (2, 6)), ((1, 0), (2, 6))]
    (Checkpoint().tensor("model.w", W, boxes).tensor("model.b", B)
     .write(out / "ckpt"))


@case("a chunk reaches past the end of its tensor", "C14", "error",
      ["model.w"], verify=[1])
def chunk_outside(out):
    boxes = [((0, 0), (2, 6)), ((2, 0), (2, 6))]
    Checkpoint().tensor("model.w", W, boxes, size=(3, 6)).write(out / "ckpt")


@case("a chunk of two dimensions in a tensor of three", "C12", "error",
      ["model.w"], verify=[1])
def rank_differs(out):
    Checkpoint().tensor("model.w", W, size=(4, 3, 2)).write(out / "ckpt")


@case("the item has another shape than its chunk", "C12", "error",
      ["model.w"], verify=[1])
def shape_differs(out):
    with_item(saved(W.reshape(6, 4).clone())).write(out / "ckpt")


@case("the item has another dtype than the metadata", "C51", "error",
      ["model.w"], verify=[0, 1])
def dtype_differs(out):
    with_item(saved(W.double())).write(out / "ckpt")


@case("an item whose storage is smaller than its tensor", "C47", "error",
      ["model.w"], verify=[1])
def storage_too_small(out):
    members = plain_members(saved(W))
    members["archive/data/0"] = members["archive/data/0"][:-8]
    with_item(zipped(members)).write(out / "ckpt")


@case("dimensions of 2^62", "overflow", "error", ["model.w"])
def huge_shape(out):
    shape = (2 ** 62, 2 ** 62)
    Checkpoint().tensor("model.w", W, [((0, 0), shape)], size=shape,
                        items=[saved(W)]).write(out / "ckpt")


@case("the product of the dimensions is 2^64, 0 in 64 bits", "overflow",
      "error", ["model.w"])
def huge_product(out):
    shape = (2 ** 32, 2 ** 32)
    Checkpoint().tensor("model.w", W, [((0, 0), shape)], size=shape,
                        items=[saved(torch.empty(0))]).write(out / "ckpt")


@case("a plausible size of 4 TiB that no data backs", "overflow", "error",
      ["model.w"])
def large_claim(out):
    shape = (2 ** 20, 2 ** 20)
    Checkpoint().tensor("model.w", W, [((0, 0), shape)], size=shape,
                        items=[saved(W)]).write(out / "ckpt")


@case("a negative offset in a data file", "overflow", "error", ["model.w"],
      verify=[1, 3])
def negative_offset(out):
    checkpoint = base()
    checkpoint.info("model.w").offset = -1
    checkpoint.write(out / "ckpt")


@case("offset plus length passes 2^63", "overflow", "error", ["model.w"],
      verify=[1, 3])
def offset_overflow(out):
    checkpoint = base()
    checkpoint.info("model.w").offset = 2 ** 63 - 10
    checkpoint.write(out / "ckpt")


@case("a dimension of -4", "overflow", "error", ["model.w"], verify=[1, 3])
def negative_size(out):
    checkpoint = base()
    tensor = checkpoint.metadata.state_dict_metadata["model.w"]
    tensor.size = torch.Size((-4, 6))
    checkpoint.write(out / "ckpt")


@case("the last 100 bytes of a data file are gone", "C08", "error",
      ["__1_0.distcp"], verify=[1])
def short_file(out):
    checkpoint = base()
    del checkpoint.files["__1_0.distcp"][-100:]
    checkpoint.write(out / "ckpt")


@case("a data file of 0 bytes that has entries", "C08", "error",
      ["__1_0.distcp"], verify=[1])
def zero_byte_file(out):
    checkpoint = base()
    checkpoint.files["__1_0.distcp"] = b""
    checkpoint.write(out / "ckpt")


@case("a data file is missing", "C08", "error", ["__1_0.distcp"], verify=[1])
def missing_file(out):
    checkpoint = base()
    del checkpoint.files["__1_0.distcp"]
    checkpoint.write(out / "ckpt")


@case("one bit of a payload is flipped", "C10", "error",
      ["model.w", "__1_0.distcp"], verify=[1])
def bit_flip(out):
    checkpoint = base()
    data = checkpoint.files["__1_0.distcp"]
    payload = W[2:4].numpy().tobytes()
    assert data.count(payload) == 1
    data[data.index(payload) + 17] ^= 0x10
    checkpoint.write(out / "ckpt")


@case("empty data files that no entry refers to", "C26", "ok")
def empty_files(out):
    checkpoint = base()
    checkpoint.files["__0_1.distcp"] = b""
    checkpoint.files["__1_1.distcp"] = b""
    checkpoint.write(out / "ckpt")
    return STATE


# ------------------------------------------------------ hostile paths, calls

@case("a path that leaves the directory and hits a good file", "C29", "error",
      ["secret.bin"], path="a/ckpt")
def traversal(out):
    checkpoint = base()
    secret = checkpoint.files.pop("__1_0.distcp")
    (out / "secret.bin").write_bytes(secret)
    checkpoint.info("model.w", 1).relative_path = "../../secret.bin"
    checkpoint.write(out / "a/ckpt")


@case("a path that leaves the directory in its middle", "C29", "error",
      ["secret.bin"])
def traversal_inside(out):
    checkpoint = base()
    secret = checkpoint.files.pop("__1_0.distcp")
    (out / "secret.bin").write_bytes(secret)
    info = checkpoint.info("model.w", 1)
    info.relative_path = "sub/../../secret.bin"
    checkpoint.files["sub/unused.distcp"] = b""
    checkpoint.write(out / "ckpt")


@case("an absolute path", "C29", "error", ["/etc/passwd"])
def absolute(out):
    checkpoint = base()
    checkpoint.info("model.w", 1).relative_path = "/etc/passwd"
    checkpoint.write(out / "ckpt")


class Call:
    """Pickles as a call."""

    def __init__(self, function, *args):
        self.call = function, args

    def __reduce__(self):
        return self.call


@case(".metadata that calls os.system", "C31", "error", ["system"])
def calls_system(out):
    base().write(out / "ckpt", pickle.dumps(Call(os.system, PROBE), 4))


@case(".metadata that calls eval in an attribute", "C31", "error", ["eval"])
def calls_eval(out):
    checkpoint = base()
    code = "__import__('pathlib').Path('dcpctl_ran_this').touch()"
    checkpoint.metadata.extra = Call(eval, code)
    checkpoint.write(out / "ckpt")


@case("a call inside planner_data", "C31", "error", ["system"])
def calls_in_planner_data(out):
    checkpoint = base()
    checkpoint.metadata.planner_data["step"] = ("step",
                                                Call(os.system, PROBE))
    checkpoint.write(out / "ckpt")


@case("a call inside an object of the checkpoint", "C31", "error",
      ["system"], verify=[0, 1, 3])
def calls_in_object(out):
    item = saved([1, Call(os.system, PROBE)])
    base().object("extra", None, item=item).write(out / "ckpt")


@case("a call inside the pickle of a tensor item", "C31", "error", ["system"])
def calls_in_tensor_item(out):
    with_item(saved(Call(os.system, PROBE))).write(out / "ckpt")


def injected(marker, replacement):
    """The base's .metadata in protocol 0 with other opcodes for a string."""
    checkpoint = base()
    checkpoint.metadata.extra = marker
    data = pickletools.optimize(pickle.dumps(checkpoint.metadata, protocol=0))
    old = b"V" + marker.encode() + b"\n"
    assert data.count(old) == 1
    return checkpoint, data.replace(old, replacement)


@case("a call through the INST opcode", "C31", "error", ["system"])
def inst_opcode(out):
    call = f"(S'{PROBE}'\niposix\nsystem\n".encode()
    checkpoint, data = injected("HERE", call)
    checkpoint.write(out / "ckpt", data)


@case("a call through the OBJ opcode", "C31", "error", ["system"])
def obj_opcode(out):
    call = f"(cposix\nsystem\nS'{PROBE}'\no".encode()
    checkpoint, data = injected("HERE", call)
    checkpoint.write(out / "ckpt", data)


@case("a call through an extension code", "C31", "error")
def ext_opcode(out):
    checkpoint, data = injected("HERE", b"\x82\x01")
    checkpoint.write(out / "ckpt", data)


@case("a persistent id where there are none", "C31", "error")
def persid_opcode(out):
    checkpoint, data = injected("HERE", b"P0\n")
    checkpoint.write(out / "ckpt", data)


# ------------------------------------------------------------ broken pickles

@case("tuples nested 100000 deep", "resource limit", "error", [".metadata"])
def deep_recursion(out):
    base().write(out / "ckpt", b"\x80\x04)" + b"\x85" * 100000 + b".")


@case("an unknown attribute nested 20000 deep", "resource limit", "any")
def deep_attribute(out):
    checkpoint = base()
    checkpoint.metadata.extra = "HERE"
    data = pickletools.optimize(pickle.dumps(checkpoint.metadata, protocol=3))
    old = text_opcode("HERE")
    assert data.count(old) == 1
    checkpoint.write(out / "ckpt",
                     data.replace(old, b")" + b"\x85" * 20000))


@case("an object nested 20000 deep", "resource limit", "any")
def deep_object(out):
    depth = 20000
    item = pickle_item(b"\x80\x02" + b"]" * depth + b"a" * (depth - 1) + b".")
    base().object("deep", None, item=item).write(out / "ckpt")


@case("an object of 10^20 elements, written once each by the memo",
      "resource limit", "any")
def laughs_object(out):
    value = [0]
    for _ in range(20):
        value = [value] * 10
    item = saved(value)
    base().object("laughs", None, item=item).write(out / "ckpt")


@case("a list that holds itself", "resource limit", "any")
def cyclic_object(out):
    item = pickle_item(b"\x80\x02]q\x00h\x00a.")
    base().object("cycle", None, item=item).write(out / "ckpt")


@case("a memo entry that was never made", "bad pickle", "error",
      [".metadata"])
def absent_memo(out):
    base().write(out / "ckpt", b"\x80\x04h\xc8.")


@case("memo number 4294967280 is made and used", "resource limit", "any")
def huge_memo_index(out):
    checkpoint = base()
    checkpoint.metadata.extra = "HERE"
    data = pickletools.optimize(pickle.dumps(checkpoint.metadata, protocol=3))
    old = text_opcode("HERE")
    number = struct.pack("<I", 4294967280)
    checkpoint.write(out / "ckpt", data.replace(
        old, old + b"r" + number + b"0j" + number))


@case("a string that claims 2^60 bytes", "bad pickle", "error", [".metadata"])
def huge_length_opcode(out):
    base().write(out / "ckpt", b"\x80\x04\x8d" + struct.pack("<Q", 2 ** 60)
                 + b"abc.")


@case("an operation on an empty stack", "bad pickle", "error", [".metadata"])
def stack_underflow(out):
    base().write(out / "ckpt", b"\x80\x04\x87.")


@case("a pickle of something else", "bad pickle", "error", [".metadata"])
def not_metadata(out):
    base().write(out / "ckpt", pickle.dumps({"a": [1, 2]}, 4))


@case(".metadata cut at 60 %", "bad pickle", "error", [".metadata"])
def truncated_metadata(out):
    checkpoint = base()
    data = pickle.dumps(checkpoint.metadata, protocol=4)
    checkpoint.write(out / "ckpt", data[:len(data) * 6 // 10])


@case(".metadata of 0 bytes", "bad pickle", "error", [".metadata"])
def empty_metadata(out):
    base().write(out / "ckpt", b"")


# --------------------------------------------------------------- transforms

def five_keys():
    checkpoint = Checkpoint()
    state = {}
    for i in range(5):
        key = f"model.k{i}"
        state[f"k{i}"] = W + i
        checkpoint.tensor(
            key, W + i, transforms=["com.acme.seal/1"] if i == 3 else None)
    return checkpoint, state


@case("an unknown transform on one of five keys", "C36", "error",
      ["model.k3", "com.acme.seal"], verify=[0, 1, 3])
def unknown_transform(out):
    five_keys()[0].write(out / "ckpt")


@case("the same, with that key left out", "C36", "ok",
      args=["--exclude", "model.k3"], verify=[0, 1, 3])
def unknown_transform_excluded(out):
    checkpoint, state = five_keys()
    checkpoint.write(out / "ckpt")
    del state["k3"]
    return {"model": state}


@case("16 bytes of tensor in a zstd frame that expands to 64 MiB", "C34",
      "error", ["small"])
def zstd_bomb(out):
    small = ramp(4)
    members = plain_members(saved(small))
    members["archive/padding"] = bytes(64 << 20)
    frame = zstandard.ZstdCompressor(write_content_size=False).compress(
        zipped(members))
    (Checkpoint().tensor("small", small, items=[frame],
                         transforms=["stream.zstd/1"])
     .tensor("b", B).write(out / "ckpt"))


@case("a zstd frame that ends early", "C35", "error", ["small"], verify=[1])
def zstd_truncated(out):
    frame = zstandard.ZstdCompressor(write_content_size=False).compress(
        saved(W))
    (Checkpoint().tensor("small", W, items=[frame[:len(frame) // 2]],
                         transforms=["stream.zstd/1"])
     .tensor("b", B).write(out / "ckpt"))


@case("an item that is rebuilt by another package", "C54", "error",
      ["model.w", "acme_quant"], verify=[0, 1, 3])
def wrapped_tensor(out):
    module = fake_module("acme_quant")

    def rebuild(inner, scale):
        return inner, scale

    rebuild.__module__ = "acme_quant"
    rebuild.__qualname__ = "rebuild"
    module.rebuild = rebuild
    inner = torch.zeros(4, 6, dtype=torch.uint8)
    with_item(saved(Call(rebuild, inner, 0.5))).write(out / "ckpt")


# --------------------------------------------------- folders that are not DCP

@case("the parent folder of two checkpoints", "C04", "error",
      ["pytorch_model_fsdp_0", "optimizer_0"], path="ckpt-2000")
def parent(out):
    base().write(out / "ckpt-2000/pytorch_model_fsdp_0")
    (Checkpoint().tensor("state.w.exp_avg", W)
     .write(out / "ckpt-2000/optimizer_0"))
    (out / "ckpt-2000/scheduler.pt").write_bytes(saved({"last_epoch": 2}))


@case("one torch.save file per rank", "C05", "error", ["rank"])
def per_rank_pt(out):
    (out / "ckpt").mkdir(parents=True)
    for rank in range(2):
        name = f"model_world_size_2_rank_{rank}.pt"
        (out / "ckpt" / name).write_bytes(
            saved({"w": W[2 * rank:2 * rank + 2].clone()}))


@case("data files, and no .metadata", "C06", "error", ["unfinished"],
      verify=[1, 3])
def unfinished(out):
    (out / "ckpt").mkdir(parents=True)
    base().write_data(out / "ckpt")


@case("data files and .metadata.tmp", "C06", "error", ["unfinished"],
      verify=[1, 3])
def unfinished_tmp(out):
    base().write(out / "ckpt")
    (out / "ckpt/.metadata").rename(out / "ckpt/.metadata.tmp")


@case("one data file by itself", "C117", "error", ["data file"],
      path="lone.distcp", command="inspect", verify=[0, 1, 3])
def lone(out):
    (out / "lone.distcp").write_bytes(base().files["__0_0.distcp"])


# --------------------------------------------------------- torch.save files

@case("a Git LFS pointer", "C100", "error", ["LFS"], path="model.pt",
      command="torch_to_dcp")
def lfs_pointer(out):
    (out / "model.pt").write_text(
        "version https://git-lfs.github.com/spec/v1\n"
        f"oid sha256:{'4d7a2146' * 8}\nsize 1234567890\n")


@case("a web page", "C100", "error", ["HTML"], path="model.pth",
      command="torch_to_dcp")
def page(out):
    (out / "model.pth").write_text(
        "<!DOCTYPE html>\n<html><head><title>Sign in</title></head>"
        "<body>Please sign in to download.</body></html>\n")


@case("a file of 0 bytes", "C99", "error", ["empty|0 bytes|truncated"],
      path="empty.pt", command="torch_to_dcp")
def empty(out):
    (out / "empty.pt").write_bytes(b"")


@case("a torch.save file cut at 60 %", "C99", "error", ["truncated"],
      path="truncated.pt", command="torch_to_dcp")
def truncated(out):
    data = saved({"w": ramp(32, 32), "b": B})
    (out / "truncated.pt").write_bytes(data[:len(data) * 6 // 10])


@case("a safetensors file under another name", "C100", "error",
      ["safetensors"], path="weights.bin", command="inspect")
def weights(out):
    header, data = {"__metadata__": {"format": "pt"}}, b""
    for key, t in (("w", W), ("b", B)):
        raw = t.numpy().tobytes()
        header[key] = {"dtype": "F32", "shape": list(t.shape),
                       "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    (out / "weights.bin").write_bytes(
        struct.pack("<Q", len(text)) + text + data)


@case("the tar form of the first PyTorch versions", "C102", "error", ["tar"],
      path="model.pt", command="torch_to_dcp")
def tar(out):
    def dump(*values):
        return b"".join(pickle.dumps(v, 2) for v in values)

    t = ramp(2, 3)
    storage = (dump(1, (100, "cpu", torch.FloatStorage))
               + struct.pack("<q", 6) + t.numpy().tobytes() + dump([]))
    tensor = (dump(1, (200, 100, torch.FloatTensor))
              + struct.pack("<ii2q2qq", 2, 0, 2, 3, 3, 1, 0))
    root = b"\x80\x02}" + text_opcode("w") + text_opcode("200") + b"Qs."
    system = dump({"protocol_version": 1000, "little_endian": True,
                   "type_sizes": {"short": 2, "int": 4, "long": 4}})
    with tarfile.open(out / "model.pt", "w", tarfile.USTAR_FORMAT) as archive:
        for name, data in (("sys_info", system), ("pickle", root),
                           ("tensors", tensor), ("storages", storage)):
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))


@case("two paths that flatten to one key", "C70", "error", ["a.b"],
      path="model.pt", command="torch_to_dcp", verify=[0])
def colliding(out):
    (out / "model.pt").write_bytes(saved({"a.b": B, "a": {"b": W}}))


@case("a torch.save file that calls os.system", "C31", "error", ["system"],
      path="model.pt", command="torch_to_dcp", verify=[0, 1, 3])
def calls_in_file(out):
    (out / "model.pt").write_bytes(saved({"w": W, "x": Call(os.system,
                                                            PROBE)}))


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    root = pathlib.Path(sys.argv[1])
    index = {}
    for name, (function, entry) in CASES.items():
        out = root / name
        shutil.rmtree(out, ignore_errors=True)
        out.mkdir(parents=True)
        state = function(out)
        index[name] = entry
        if state is not None:
            (out / "expected.json").write_text(json.dumps(
                {"case": name, "torch": torch.__version__,
                 "entries": describe(state)}, indent=1))
    (root / "index.json").write_text(json.dumps(index, indent=1) + "\n")
    print(len(index), "cases")


if __name__ == "__main__":
    main()

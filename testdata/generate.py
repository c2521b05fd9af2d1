"""Write small, deterministic checkpoints with the PyTorch that is installed.

Usage: python generate.py OUT_DIR

Works with torch 1.13 and later, on the CPU, with the gloo back end.

OUT_DIR/<case>/ckpt           a DCP directory (hf_sharded: safetensors shards)
OUT_DIR/<case>/expected.json  what a reader must find in it
OUT_DIR/files/*.pt            torch.save files; files/expected.json is theirs
OUT_DIR/index.json            the cases, and what this torch could not do

For each flat key expected.json gives the path and either dtype, shape and the
SHA-256 of the row-major little-endian bytes (a tensor) or type and repr (an
object).
"""
import ctypes
import dataclasses
import datetime
import enum
import hashlib
import io
import json
import os
import pathlib
import platform
import random
import re
import shutil
import sys
import warnings


def _allow_unhashable_dataclass_defaults():
    """Let torch 1.13 be imported by CPython 3.11, which forbids them."""
    original = dataclasses._get_field

    def get_field(cls, name, *rest):
        default = getattr(cls, name, dataclasses.MISSING)
        if isinstance(default, dataclasses.Field):
            default = default.default
        if (default is not dataclasses.MISSING
                and type(default).__hash__ is None
                and not isinstance(default, (list, dict, set))):
            type(default).__hash__ = object.__hash__
        return original(cls, name, *rest)

    dataclasses._get_field = get_field


if sys.version_info >= (3, 11):
    _allow_unhashable_dataclass_defaults()
warnings.filterwarnings("ignore")

import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402
import torch.multiprocessing as mp  # noqa: E402
import torch.nn as nn  # noqa: E402

try:
    import torch.distributed.checkpoint as dcp
    NEW = True
except ImportError:
    import torch.distributed._shard.checkpoint as dcp
    NEW = False

VERSION = tuple(map(int, torch.__version__.split("+")[0].split(".")[:2]))

DTYPES = (
    "float64", "float32", "float16", "bfloat16",
    "int64", "int32", "int16", "int8", "uint8", "bool",
    "complex32", "complex64", "complex128",
    "uint16", "uint32", "uint64",
    "float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz",
    "float8_e8m0fnu", "float4_e2m1fn_x2",
)


class TrainerState:
    """Stands for a class that no reader has."""

    def __init__(self, epoch, notes):
        self.epoch = epoch
        self.notes = notes

    def __repr__(self):
        return f"TrainerState({self.epoch}, {self.notes})"


class Phase(enum.Enum):
    WARMUP = 1
    DECAY = "d"


class Toy(nn.Module):
    """Two linear layers, as in PyTorch's introduction to DCP."""

    def __init__(self):
        super().__init__()
        self.net1 = nn.Linear(16, 16)
        self.relu = nn.ReLU()
        self.net2 = nn.Linear(16, 8)

    def forward(self, x):
        return self.net2(self.relu(self.net1(x)))


def ramp(*shape, dtype=torch.float32):
    """0, 1, 2, ... in the given shape."""
    count = torch.Size(shape).numel()
    return torch.arange(count, dtype=torch.float64).to(dtype).reshape(shape)


def digest(t):
    """SHA-256 of the row-major bytes; None where there are none."""
    if t.layout != torch.strided or t.is_quantized:
        return None
    t = t.detach().cpu().resolve_conj().resolve_neg().contiguous()
    if t.numel() == 0:
        return hashlib.sha256(b"").hexdigest()
    data = ctypes.string_at(t.data_ptr(), t.numel() * t.element_size())
    return hashlib.sha256(data).hexdigest()


def _holds_tensor_or_dict(v):
    return isinstance(v, list) and any(
        isinstance(x, (torch.Tensor, dict)) or _holds_tensor_or_dict(x)
        for x in v)


def describe(sd, path=()):
    """Flat key -> what a reader must find.

    Flattens like torch >= 2.4: every dict, and the lists that hold tensors or
    dicts.
    """
    out = {}

    def walk(v, p):
        if isinstance(v, dict):
            for k, x in v.items():
                walk(x, p + (str(k),))
            return
        if _holds_tensor_or_dict(v):
            for i, x in enumerate(v):
                walk(x, p + (i,))
            return
        key = ".".join(map(str, p))
        if isinstance(v, torch.Tensor):
            out[key] = {"path": p, "kind": "tensor", "dtype": str(v.dtype)[6:],
                        "shape": list(v.shape), "sha256": digest(v)}
        else:
            out[key] = {"path": p, "kind": "object", "type": type(v).__name__,
                        "repr": repr(v)}

    walk(sd, path)
    return out


def write_expected(out, case, sd, **more):
    """Write OUT/<case>/expected.json for the state dict that was saved."""
    document = {"case": case, "torch": torch.__version__, **more,
                "entries": describe(sd)}
    (out / case / "expected.json").write_text(
        json.dumps(document, indent=1, default=str))


def save(sd, path, writer=None, **kw):
    """dcp.save, as every version of the interface calls it."""
    writer = writer or dcp.FileSystemWriter(str(path))
    if NEW and hasattr(dcp, "save"):
        try:
            return dcp.save(sd, storage_writer=writer, **kw)
        except TypeError:
            pass
    return dcp.save_state_dict(sd, writer, **kw)


# --------------------------------------------------------- several processes

def init(rank, world_size, port):
    """Join the process group and fix the seed."""
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port),
                      RANK=str(rank), WORLD_SIZE=str(world_size),
                      LOCAL_RANK=str(rank))
    dist.init_process_group("gloo", rank=rank, world_size=world_size)
    torch.manual_seed(7)


def full(x):
    """The same nest with whole tensors in place of DTensors."""
    if isinstance(x, dict):
        return {k: full(v) for k, v in x.items()}
    if isinstance(x, list):
        return [full(v) for v in x]
    return x.full_tensor() if hasattr(x, "full_tensor") else x


def train_one_step(model, optimizer):
    model(torch.rand(8, 16)).sum().backward()
    optimizer.step()


def work_recipe_fsdp2(rank, world_size, port, out):
    """A fully_shard model and Adam through get_state_dict."""
    init(rank, world_size, port)
    try:
        from torch.distributed.fsdp import fully_shard
    except ImportError:
        from torch.distributed._composable.fsdp import fully_shard
    from torch.distributed.checkpoint.state_dict import get_state_dict
    from torch.distributed.device_mesh import init_device_mesh
    model = Toy()
    fully_shard(model, mesh=init_device_mesh("cpu", (world_size,)))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
    train_one_step(model, optimizer)
    model_state, optim_state = get_state_dict(model, optimizer)
    sd = {"app": {"model": model_state, "optim": optim_state}, "epoch": 3}
    save(sd, out / "recipe_fsdp2/ckpt")
    whole = full(sd)
    if rank == 0:
        write_expected(out, "recipe_fsdp2", whole, world_size=world_size)
    dist.destroy_process_group()


def work_recipe_fsdp1(rank, world_size, port, out):
    """FSDP1 with SHARDED_STATE_DICT: model, optimizer, epoch."""
    init(rank, world_size, port)
    from torch.distributed.fsdp import FullyShardedDataParallel as FSDP
    from torch.distributed.fsdp import StateDictType
    if hasattr(FSDP, "optim_state_dict"):
        model = FSDP(Toy(), device_id=torch.device("cpu"))
    else:
        model = FSDP(Toy())
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
    train_one_step(model, optimizer)
    with FSDP.state_dict_type(model, StateDictType.FULL_STATE_DICT):
        whole = {"model": model.state_dict()}
    with FSDP.state_dict_type(model, StateDictType.SHARDED_STATE_DICT):
        sd = {"model": model.state_dict(),
              "optimizer": FSDP.optim_state_dict(model, optimizer),
              "epoch": 4}
        save(sd, out / "recipe_fsdp1/ckpt")
    if rank == 0:
        write_expected(
            out, "recipe_fsdp1", {**whole, "epoch": 4}, world_size=world_size,
            note="model keys and epoch only; optimizer keys are there too")
    dist.destroy_process_group()


def mesh_tensors():
    return {
        "uneven": ramp(5, 3), "empty": ramp(2, 3), "one": ramp(1, 17),
        "col": ramp(6, 10), "rep": ramp(7), "grid": ramp(8, 6),
        "hsdp": ramp(9, 4), "both0": ramp(8, 3), "cube": ramp(4, 6, 5),
        "bf16": ramp(10, 3, dtype=torch.bfloat16),
    }


def work_mesh(rank, world_size, port, out):
    """DTensors with one and two mesh dimensions, even and uneven."""
    init(rank, world_size, port)
    try:
        from torch.distributed.device_mesh import init_device_mesh

        def make_mesh(shape):
            return init_device_mesh("cpu", shape)
    except ImportError:
        from torch.distributed._tensor import DeviceMesh

        def make_mesh(shape):
            return DeviceMesh("cpu", torch.arange(world_size).reshape(shape))
    try:
        from torch.distributed.tensor import (
            Replicate, Shard, distribute_tensor)
    except ImportError:
        from torch.distributed._tensor import (
            Replicate, Shard, distribute_tensor)
    line = make_mesh((world_size,))
    grid = make_mesh((2, world_size // 2))
    tensors = mesh_tensors()
    placements = {
        "col": (line, [Shard(1)]),
        "rep": (line, [Replicate()]),
        "grid": (grid, [Shard(0), Shard(1)]),
        "hsdp": (grid, [Replicate(), Shard(0)]),
        "both0": (grid, [Shard(0), Shard(0)]),
        "cube": (grid, [Shard(2), Shard(1)]),
    }
    if VERSION < (2, 3):
        # There a dimension must be at least as long as its mesh dimension.
        for k in ("empty", "one"):
            del tensors[k]
    sd = {k: distribute_tensor(t, *placements.get(k, (line, [Shard(0)])))
          for k, t in tensors.items()}
    step = torch.tensor(7.0)
    save({"m": sd, "step": step} if NEW else {**sd, "step": step},
         out / "mesh/ckpt")
    if rank == 0:
        write_expected(out, "mesh", {"m": tensors, "step": step},
                       world_size=world_size)
    dist.destroy_process_group()


def work_sharded_tensor(rank, world_size, port, out):
    """ShardedTensors cut by ChunkShardingSpec, beside plain values."""
    init(rank, world_size, port)
    from torch.distributed._shard import sharded_tensor
    from torch.distributed._shard.sharding_spec import ChunkShardingSpec

    def shard(t):
        spec = ChunkShardingSpec(
            dim=0, placements=[f"rank:{i}/cpu" for i in range(world_size)])
        x = sharded_tensor.empty(spec, *t.shape, dtype=t.dtype)
        for s in x.local_shards():
            start = s.metadata.shard_offsets[0]
            count = s.metadata.shard_sizes[0]
            s.tensor.copy_(t[start:start + count])
        return x

    if VERSION >= (2, 1):  # these refuse trailing empty shards
        tensors = {"net1.weight": ramp(12, 7), "net2.weight": ramp(8, 3)}
    else:
        tensors = {"net1.weight": ramp(10, 7), "net2.weight": ramp(5, 3),
                   "tiny": ramp(2, 2)}
    sd = {k: shard(t) for k, t in tensors.items()}
    rest = {"bias": ramp(5), "epoch": 3, "opt": {"lr": [0.1, 0.2]}}
    save({**sd, **rest}, out / "sharded_tensor/ckpt")
    if rank == 0:
        write_expected(out, "sharded_tensor", {**tensors, **rest},
                       world_size=world_size)
    dist.destroy_process_group()


def work_no_collectives(rank, world_size, port, out):
    """use_collectives=False: every rank writes metadata of its own."""
    init(rank, world_size, port)
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import Shard, distribute_tensor
    tensors = {"w": ramp(9, 4), "b": ramp(4)}
    mesh = init_device_mesh("cpu", (world_size,))
    sd = {"w": distribute_tensor(tensors["w"], mesh, [Shard(0)]),
          "b": tensors["b"], "epoch": 5}
    dcp.save(sd, checkpoint_id=str(out / "no_collectives/ckpt"),
             use_collectives=False)
    if rank == 0:
        write_expected(out, "no_collectives", {**tensors, "epoch": 5},
                       world_size=world_size)
    dist.destroy_process_group()


def work_hf_sharded(rank, world_size, port, out):
    """Sharded safetensors through HuggingFaceStorageWriter."""
    init(rank, world_size, port)
    from torch.distributed.checkpoint import HuggingFaceStorageWriter
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import Shard, distribute_tensor
    tensors = {"w": ramp(9, 4), "c": ramp(4, 6)}
    mesh = init_device_mesh("cpu", (world_size,))
    sd = {"w": distribute_tensor(tensors["w"], mesh, [Shard(0)]),
          "c": distribute_tensor(tensors["c"], mesh, [Shard(1)])}
    directory = str(out / "hf_sharded/ckpt")
    try:
        writer = HuggingFaceStorageWriter(directory, save_distributed=True)
    except TypeError:
        writer = HuggingFaceStorageWriter(directory, save_sharded=True)
    dcp.save(sd, storage_writer=writer)
    if rank == 0:
        write_expected(out, "hf_sharded", tensors, world_size=world_size)
    dist.destroy_process_group()


def work_local_shards(rank, world_size, port, out):
    """2.14 and later: plain tensors that say which part they hold."""
    init(rank, world_size, port)
    from torch.distributed.checkpoint.protocol import (  # noqa: F401
        CheckpointableTensor)
    tensors = {"w": ramp(9, 4), "b": ramp(4)}
    start, count = ((0, 5), (5, 4))[rank]
    t = torch.full((count + 2, 4), -1.0)
    t[1:1 + count] = tensors["w"][start:start + count]
    t.global_shape = (9, 4)
    t.global_offsets = ((start, 0), (start + 2, 0))
    t.local_offsets = ((1, 0), (3, 0))
    t.local_sizes = ((2, 4), (count - 2, 4))
    save({"w": t, "b": tensors["b"]}, out / "local_shards/ckpt")
    if rank == 0:
        write_expected(out, "local_shards", tensors, world_size=world_size)
    dist.destroy_process_group()


# --------------------------------------------------------------- one process

def all_dtypes():
    """Random bytes in every dtype that this torch has."""
    out = {}
    generator = torch.Generator().manual_seed(5)
    for name in DTYPES:
        dtype = getattr(torch, name, None)
        if dtype is None:
            continue
        size = torch.empty(0, dtype=dtype).element_size()
        raw = torch.randint(0, 2 if name == "bool" else 256, (15 * size,),
                            dtype=torch.uint8, generator=generator)
        out[name] = raw.view(dtype).reshape(3, 5)
    return out


def strides():
    """Tensors that are not row-major or do not fill their storage."""
    base = torch.arange(1000.)
    odd_floats = [0x7fc00001, -4119739, -2147483648, 1]
    return {
        "t": ramp(3, 4).t(),
        "cl": ramp(2, 3, 4, 4).to(memory_format=torch.channels_last),
        "view": base[3:8],
        "col": ramp(6, 6)[:, 2],
        "nan": torch.tensor(odd_floats, dtype=torch.int32).view(torch.float32),
        "param": nn.Parameter(ramp(2, 2)),
    }


def shapes():
    """Scalars, empty tensors, six dimensions."""
    return {"s": torch.tensor(7.0), "i": torch.tensor(3),
            "e0": torch.empty(0), "e1": torch.empty(0, 5),
            "e2": torch.empty(3, 0), "d6": ramp(1, 2, 1, 3, 1, 2)}


def objects():
    """Leaves that are not tensors."""
    return {
        "int": 20, "neg": -1, "big": 2 ** 80, "f": 1.5,
        "s": "a\u00f1\n\u4e2d", "b": b"\x00\xff", "t": (1, "x", (2.0,)),
        "none": None, "z": 1 + 2j, "set": {1}, "fs": frozenset([2]),
        "ba": bytearray(b"xy"), "dt": datetime.datetime(2024, 5, 6, 7),
        "td": datetime.timedelta(3), "flag": True, "enum": Phase.DECAY,
        "obj": TrainerState(4, ["a", {"k": (1,)}]),
        "dev": torch.device("cpu"), "dtype": torch.bfloat16,
        "size": torch.Size([2, 3]), "slice": slice(1, 5, 2),
        "ema": (torch.ones(3), torch.zeros(2)), "w": torch.ones(3),
        "rng": random.Random(3).getstate(),
    }


def structure():
    """Nesting: integer keys, long lists, empty containers, odd keys."""
    return {
        "optim": {"state": {0: {"step": torch.tensor(1.)},
                            1: {"step": torch.tensor(2.)}},
                  "param_groups": [{"lr": 1e-3, "betas": (0.9, 0.99),
                                    "params": [0, 1]}]},
        "k": [{}, {"a": 1}],
        "l12": [torch.tensor(float(i)) for i in range(12)],
        "a.b": {"c.d": torch.ones(2), "e": {}},
        "odd key/'\"\n": torch.ones(1),
        "": torch.zeros(1),
        "hist": [],
        "x": None,
        "deep": {"q": {"r": {"s": [[torch.ones(1)], [2, 3]]}}},
    }


def tied():
    """One tensor under two names."""
    a = ramp(64, 8)
    return {"embed": {"weight": a}, "head": {"weight": a}}


def save_plain_cases(out, skipped):
    """Save each state dict; leave out and list what this torch can't save."""
    cases = (("dtypes", all_dtypes), ("strides", strides), ("shapes", shapes),
             ("objects", objects), ("structure", structure), ("tied", tied))
    for case, make in cases:
        sd = make()
        (out / case).mkdir(parents=True, exist_ok=True)
        if not NEW:
            sd = {k: v for k, v in sd.items() if k}
        for k in list(sd):
            try:
                probe = out / "probe"
                save({k: sd[k]}, probe, no_dist=True)
            except BaseException as e:
                skipped[f"{case}.{k}"] = repr(e)[:160]
                del sd[k]
        save(sd, out / case / "ckpt", no_dist=True)
        write_expected(out, case, sd)


def save_writer_cases(out, skipped):
    """The options of FileSystemWriter and of the planner."""

    def special(case, sd, make_writer, **kw):
        (out / case).mkdir(parents=True, exist_ok=True)
        try:
            save(sd, None, writer=make_writer(), no_dist=True, **kw)
            write_expected(out, case, sd)
        except BaseException as e:
            skipped[case] = repr(e)[:160]

    def writer(case, **kw):
        return lambda: dcp.FileSystemWriter(str(out / case / "ckpt"), **kw)

    many = {f"t{i}": ramp(i + 1, 3) for i in range(9)}
    many["n"] = 5
    special("threads", many, writer("threads", thread_count=3))
    special("file_per_item", many,
            writer("file_per_item", single_file_per_rank=False))
    special("file_per_rank", many,
            writer("file_per_rank", single_file_per_rank=True))

    def zstd():
        from torch.distributed.checkpoint._extension import ZStandard
        return writer("zstd", _extensions=[ZStandard()])()

    def rot13():
        from torch.distributed.checkpoint._extension import Rot13Example
        return writer("rot13", _extensions=[Rot13Example()])()

    special("zstd", {"a": ramp(100, 10), "n": 5, "z": torch.zeros(1000)}, zstd)
    special("rot13", {"a": ramp(10, 10)}, rot13)

    try:
        (out / "unflattened").mkdir(parents=True, exist_ok=True)
        from torch.distributed.checkpoint.default_planner import (
            DefaultSavePlanner)
        sd = {"a.b": ramp(3), "c": ramp(2, 2), "d": {"x": 1}}
        save(sd, out / "unflattened/ckpt", no_dist=True,
             planner=DefaultSavePlanner(flatten_state_dict=False))
        write_expected(out, "unflattened", sd)
    except BaseException as e:
        skipped["unflattened"] = repr(e)[:160]


def save_torch_files(out, skipped):
    """torch.save files of many kinds, and what torch.load makes of them."""
    folder = out / "files"
    folder.mkdir(parents=True, exist_ok=True)
    load_options = {"weights_only": False} if NEW else {}
    want = {}

    def put(name, obj, **kw):
        try:
            torch.save(obj, folder / name, **kw)
            try:
                obj = torch.load(folder / name, **load_options)
            except BaseException:
                pass
            if isinstance(obj, dict):
                want[name] = describe(obj)
            else:
                want[name] = {"": {"kind": "object", "repr": "",
                                   "type": type(obj).__name__}}
        except BaseException as e:
            skipped["files/" + name] = repr(e)[:160]

    base = torch.arange(1000.)
    model = Toy()
    optimizer = torch.optim.Adam(model.parameters())
    model(torch.rand(2, 16)).sum().backward()
    optimizer.step()
    put("plain.pt", {"w": ramp(3, 4), "n": 3})
    put("state.pt", {"model": model.state_dict(),
                     "optim": optimizer.state_dict(), "epoch": 2})
    put("views.pt", {"base": base, "a": base[:10], "b": base[2:4],
                     "t": base[:12].reshape(3, 4).t()})
    put("tied.pt", tied())
    put("name.with.dots.pt", {"w": ramp(2)})

    dtypes = {}
    for k, v in all_dtypes().items():
        try:
            torch.save(v, io.BytesIO())
            dtypes[k] = v
        except BaseException as e:
            skipped["files/dtypes." + k] = repr(e)[:120]
    for k, v in (("dtypes", dtypes), ("strides", strides()),
                 ("shapes", shapes()), ("objects", objects()),
                 ("structure", structure())):
        put(k + ".pt", v)
        put(k + ".legacy.pt", v, _use_new_zipfile_serialization=False)
    put("views.legacy.pt", {"base": base[:20], "a": base[:20][:10]},
        _use_new_zipfile_serialization=False)
    put("module.pt", nn.Linear(2, 2))
    put("bare.pt", ramp(3))
    put("list.pt", [ramp(2), 1])
    put("sparse.pt", {"s": torch.sparse_coo_tensor(
        [[0, 1], [1, 0]], [1., 2.], (2, 2))})
    put("quant.pt", {"q": torch.quantize_per_tensor(
        ramp(4), 0.1, 0, torch.qint8)})
    put("conj.pt", {"c": torch.tensor([1 + 2j, 3 - 1j]).conj(),
                    "n": torch.tensor([1 + 2j]).conj().imag})
    for p in (2, 3, 4, 5):
        put(f"protocol{p}.pt", {"w": ramp(2), "s": "x", "t": (1, 2, 3, 4)},
            pickle_protocol=p)
    try:
        torch.serialization.set_crc32_options(False)
        put("nocrc.pt", {"w": ramp(3, 4)})
        torch.serialization.set_crc32_options(True)
    except BaseException as e:
        skipped["files/nocrc.pt"] = repr(e)[:120]
    try:
        from torch.utils.serialization import config
        config.save.storage_alignment = 4096
        put("aligned4096.pt", {"w": ramp(3, 4), "v": ramp(5)})
        config.save.storage_alignment = 64
    except BaseException as e:
        skipped["files/aligned4096.pt"] = repr(e)[:120]
    try:
        import numpy as np
        put("numpy.pt", {"a": np.arange(6.).reshape(2, 3),
                         "s": np.float32(1.5), "w": ramp(2)})
    except BaseException as e:
        skipped["files/numpy.pt"] = repr(e)[:120]
    (folder / "expected.json").write_text(json.dumps(
        {"torch": torch.__version__, "files": want}, indent=1, default=str))


# ---------------------------------------------------------------------- main

PROCESS_CASES = (
    ("recipe_fsdp2", work_recipe_fsdp2, 4),
    ("recipe_fsdp1", work_recipe_fsdp1, 4),
    ("mesh", work_mesh, 4),
    ("sharded_tensor", work_sharded_tensor, 4),
    ("no_collectives", work_no_collectives, 3),
    ("hf_sharded", work_hf_sharded, 2),
    ("local_shards", work_local_shards, 2),
)


def run_process_cases(cases, out, skipped):
    """Spawn the ranks of each case; list and remove what fails."""
    port = 29520 + os.getpid() % 400
    for name, function, world_size in cases:
        (out / name).mkdir(parents=True, exist_ok=True)
        port += 1
        try:
            mp.spawn(function, args=(world_size, port, out), nprocs=world_size)
        except BaseException as e:
            skipped[name] = str(e).strip().splitlines()[-1][:200]
            shutil.rmtree(out / name, ignore_errors=True)


def write_index(out, skipped):
    """Write index.json, without the paths of the machine."""
    skipped = {k: re.sub(r"\(?/[^ )'\"]*\)?", "", v).strip()
               for k, v in skipped.items()}
    cases = sorted(p.name for p in out.iterdir() if p.is_dir())
    (out / "index.json").write_text(json.dumps(
        {"torch": torch.__version__, "python": platform.python_version(),
         "cases": cases, "not_possible_here": skipped}, indent=1))
    print(torch.__version__, "cases", len(cases), "skipped",
          json.dumps(skipped, indent=1))


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    # Relative paths from here on: DCP records the path it was given.
    target = pathlib.Path(sys.argv[1])
    target.mkdir(parents=True, exist_ok=True)
    os.chdir(target)
    out = pathlib.Path(".")
    skipped = {}
    run_process_cases(PROCESS_CASES, out, skipped)
    save_plain_cases(out, skipped)
    save_writer_cases(out, skipped)
    save_torch_files(out, skipped)
    shutil.rmtree(out / "probe", ignore_errors=True)
    for directory in out.iterdir():
        if directory.is_dir() and not any(directory.iterdir()):
            directory.rmdir()
    write_index(out, skipped)


if __name__ == "__main__":
    main()

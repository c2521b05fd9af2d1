"""What the ranks of reshard_test.py do: save, and load what was resharded.

A layout is a state with DTensors, made on a mesh, whose values count for
nothing: PyTorch puts those of a checkpoint there.
"""
import dataclasses
import logging
import pathlib
import sys
import typing
import warnings

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint._nested_dict import flatten_state_dict
from torch.distributed.checkpoint.state_dict import get_state_dict
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import (DTensor, Replicate, Shard,
                                      distribute_tensor)
from torch.distributed.tensor.parallel import (ColwiseParallel,
                                               RowwiseParallel,
                                               parallelize_module)

import deep_compare
import training

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "testdata"))
from generate import Toy  # noqa: E402  # it needs the path above
from generate_more import Odd  # noqa: E402

# key -> dtype, shape and the dimension that each mesh dimension cuts (None:
# it replicates), on a mesh of three dimensions and on one of one.
MADE = {
    "grid": (torch.bfloat16, (8, 8), (0, 1, None), (1,)),
    "cube": (torch.float32, (4, 6, 5), (0, 1, 2), (2,)),
    "thrice": (torch.int16, (11, 3), (0, 0, 0), (0,)),
    "uneven": (torch.float64, (5, 3), (None, 0, 1), (0,)),
    "row": (torch.float16, (1, 17), (None, None, 0), (0,)),
    "columns": (torch.uint8, (3, 13), (1, None, 1), (1,)),
    "copied": (torch.float32, (7,), (None, None, None), (None,)),
    "number": (torch.float32, (), (None, None, None), (None,)),
}
MADE_OBJECTS = {"epoch": 3, "names": ("a", "b")}


def random_bits(dtype, shape, generator):
    """Any bits, NaNs with payloads among them."""
    size = torch.empty((), dtype=dtype).element_size()
    raw = torch.randint(256, (*shape, size), dtype=torch.uint8,
                        generator=generator)
    return raw.view(dtype).reshape(shape)


def placements_of(dims):
    return [Replicate() if d is None else Shard(d) for d in dims]


# ------------------------------------------------------------------- layouts

def made(mesh):
    """The tensors of MADE, random but the same on every rank."""
    generator = torch.Generator().manual_seed(5)
    state = {}
    for key, (dtype, shape, on_three, on_one) in MADE.items():
        dims = on_three if mesh.ndim == 3 else on_one
        state[key] = distribute_tensor(random_bits(dtype, shape, generator),
                                       mesh, placements_of(dims),
                                       src_data_rank=None)
    return {"t": state, **MADE_OBJECTS}


def trained(mesh):
    """FSDP2, a tied weight, and a buffer that is no DTensor."""
    return training.Training(seed=9).state()


def state_of(model):
    optimizer = torch.optim.Adam(model.parameters(), lr=0.5)
    model_state, optim_state = get_state_dict(model, optimizer)
    return {"model": model_state, "optim": optim_state}


def toy(mesh):
    """FSDP2."""
    model = Toy()
    fully_shard(model, mesh=mesh)
    return {**state_of(model), "step": 0}


def toy_2d(mesh):
    """FSDP2 over tensor parallelism, as the recipe's application has it."""
    model = Toy()
    parallelize_module(model, mesh["tp"], {"net1": ColwiseParallel(),
                                           "net2": RowwiseParallel()})
    fully_shard(model, mesh=mesh["dp"])
    return {"app": state_of(model), "epoch": 0}


def odd(mesh):
    """FSDP2, or HSDP on two dimensions, with sizes that do not fit."""
    model = Odd()
    fully_shard(model, mesh=mesh)
    return {**state_of(model), "step": 0}


# --------------------------------------------------------------------- ranks

@dataclasses.dataclass(frozen=True)
class Load:
    """A resharded checkpoint, and the layout that it was made for."""

    name: str
    folder: str
    mesh: dict  # name -> size
    layout: typing.Callable
    expected: str  # a torch.save file of the whole state


class CountingReader(dcp.FileSystemReader):
    """Notes what is asked for, and each range of a file that is read."""

    def __init__(self, folder):
        super().__init__(folder)
        self.items = []
        self.ranges = []

    def read_data(self, plan, planner):
        self.items += plan.items
        return super().read_data(plan, planner)

    def _slice_file(self, file, sinfo):
        self.ranges.append((sinfo.relative_path, sinfo.offset, sinfo.length))
        return super()._slice_file(file, sinfo)


def is_empty(value):
    local = value.to_local() if isinstance(value, DTensor) else value
    return isinstance(local, torch.Tensor) and local.numel() == 0


def local_part(whole, value):
    """What this rank has of a tensor that is laid out as value is.

    Cut as distribute_tensor does, which for strided shards is another way
    than that by which a box is asked for.
    """
    mesh = value.device_mesh
    for size, mine, placement in zip(mesh.mesh.shape, mesh.get_coordinate(),
                                     value.placements):
        if not placement.is_replicate():
            parts, _ = placement._split_tensor(whole, size,
                                               with_padding=False)
            whole = parts[mine]
    return whole


def files_of_replicas(value):
    """Of the ranks that hold the same part, this one among them."""
    mesh = value.device_mesh
    at = tuple(slice(None) if placement.is_replicate() else mine
               for placement, mine in zip(value.placements,
                                          mesh.get_coordinate()))
    return {f"__{rank}_0.distcp" for rank in mesh.mesh[at].flatten().tolist()}


class Check:
    """One load: what is wrong with it, and what was counted."""

    def __init__(self, load, mesh):
        self.load = load
        self.mesh = mesh
        self.reader = CountingReader(load.folder)
        self.wrong = []
        self.counts = {"own": 0, "others": 0, "backward": 0}

    def run(self):
        state = self.load.layout(self.mesh)
        dcp.load(state, storage_reader=self.reader)
        flat, _ = flatten_state_dict(state)
        self.check_values(flat)
        self.check_reads(flat)
        return self.wrong, self.counts

    def check_values(self, flat):
        expected, _ = flatten_state_dict(
            torch.load(self.load.expected, weights_only=False))
        for key, value in flat.items():
            found = (key not in expected and "not in the source"
                     or self.difference(value, expected[key]))
            if found:
                self.wrong.append(f"{key}: {found}")

    @staticmethod
    def difference(value, expected):
        if isinstance(value, torch.Tensor):
            value, expected = value.detach(), expected.detach()
        if isinstance(value, DTensor):
            value, expected = value.to_local(), local_part(expected, value)
        return deep_compare.first_difference(value, expected)

    def check_reads(self, flat):
        """Whole records, one for each value, of this rank's own file."""
        reader, by_key = self.reader, {}
        metadata = reader.read_metadata()
        for item in reader.items:
            by_key.setdefault(item.storage_index.fqn, []).append(item)
            chunks = getattr(metadata.state_dict_metadata[
                item.storage_index.fqn], "chunks", None)
            if chunks and (any(item.storage_offsets) or item.lengths not in [
                    c.sizes for c in chunks
                    if c.offsets == item.storage_index.offset]):
                self.wrong.append(f"{item.storage_index} is read in part")
        if len(reader.ranges) != len(reader.items):
            self.wrong.append(f"{len(reader.ranges)} ranges are read for "
                              f"{len(reader.items)} values")
        own = f"__{dist.get_rank()}_0.distcp"
        for key, value in flat.items():
            files = [reader.storage_data[item.storage_index].relative_path
                     for item in by_key.pop(key, [])]
            if len(files) != (0 if is_empty(value) else 1):
                self.wrong.append(f"{key}: {len(files)} records are read")
            if isinstance(value, DTensor) and not (
                    set(files) <= files_of_replicas(value)):
                self.wrong.append(f"{key}: it is read from {files}")
            self.counts["own"] += files.count(own)
            self.counts["others"] += len(files) - files.count(own)
        if by_key:
            self.wrong.append(f"{list(by_key)} are read and not asked for")
        offsets = [offset for file, offset, _ in reader.ranges if file == own]
        self.counts["backward"] = sum(
            a > b for a, b in zip(offsets, offsets[1:]))


def quiet():
    warnings.filterwarnings("ignore")
    logging.disable(logging.CRITICAL)


def save(rank, world, meeting, folder):
    """Trains and saves on a line, and random tensors on a cube, of 8."""
    quiet()
    with training.ranks(rank, world, meeting):
        run = training.Training(seed=1)
        run.run(2)
        run.save(folder / "8")
        mesh = init_device_mesh("cpu", (2, 2, 2))
        dcp.save(made(mesh), checkpoint_id=folder / "2,2,2")


def load(rank, world, meeting, loads, result):
    """Leaves what each load found in a file for each rank."""
    quiet()
    found = []
    with training.ranks(rank, world, meeting):
        for one in loads:
            mesh = init_device_mesh("cpu", tuple(one.mesh.values()),
                                    mesh_dim_names=tuple(one.mesh))
            found.append(Check(one, mesh).run())
    torch.save(found, f"{result}.{rank}")

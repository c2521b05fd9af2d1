"""Generated tensors on generated meshes, for the ranks of meshes_test.py.

They save them, and load what was made of that.
"""
import dataclasses
import functools
import math
import random

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor, Shard, distribute_tensor
from torch.distributed.tensor._utils import (
    compute_local_shape_and_global_offset)
from torch.distributed.tensor.placement_types import _StridedShard

import deep_compare
import resharding
import training

NAMES = "abc"  # of the dimensions of a mesh
MESHES = ((1,), (2,), (3,), (4,), (6,), (7,), (8,), (2, 2), (2, 3), (3, 2),
          (2, 4), (4, 2), (1, 6), (2, 1, 3), (2, 2, 2))
DTYPES = (torch.float32, torch.bfloat16, torch.float64, torch.int64,
          torch.uint8, torch.complex64, torch.float8_e5m2, torch.bool)


@dataclasses.dataclass(frozen=True)
class Case:
    """One tensor. Of each mesh dimension: what it cuts, None: nothing.

    strided: the target's first two dimensions cut dimension 0, the second
    one first, as FSDP over tensor parallelism does.
    """

    key: str
    dtype: torch.dtype
    shape: tuple
    seed: int
    source: tuple
    target: tuple
    strided: bool = False

    def whole(self):
        generator = torch.Generator().manual_seed(self.seed)
        if self.dtype == torch.bool:
            return torch.randint(2, self.shape, generator=generator).bool()
        return resharding.random_bits(self.dtype, self.shape, generator)

    def target_placements(self, mesh):
        placements = resharding.placements_of(self.target)
        if self.strided:
            placements[0] = _StridedShard(0, split_factor=mesh.size(1))
        return placements

    def rule(self):
        """For --placement."""
        cuts = [f"{name}:shard({dim})"
                for name, dim in zip(NAMES, self.target) if dim is not None]
        if self.strided:
            cuts[0] = "a:strided_shard(0)"
        return f"t.{self.key}={','.join(cuts) or 'replicate'}"


@dataclasses.dataclass(frozen=True)
class Group:
    """Cases of one pair of meshes: a checkpoint, and what becomes of it."""

    name: str
    source: tuple
    target: tuple
    cases: tuple
    folder: str  # with the checkpoints "from" and "to"


def make_case(number, chance, source, target):
    rank = chance.choice((0, 1, 1, 2, 2, 2, 3, 4))
    shape = tuple(chance.choice((1, 2, 3, 5, 7, 8, 12, 17))
                  for _ in range(rank))
    if rank and chance.random() < 0.05:
        shape = shape[:-1] + (0,)
    strided = len(target) > 1 and rank > 0 and chance.random() < 0.2
    if strided:  # cut evenly, or its parts are no boxes
        shape = (math.prod(target[:2]) * chance.randint(1, 3), *shape[1:])

    def cuts(mesh):
        return tuple(chance.choice((None, *range(rank), *range(rank)))
                     for _ in mesh)

    wanted = (0, 0, *(None for _ in target[2:])) if strided else cuts(target)
    return Case(f"n{number}", chance.choice(DTYPES), shape,
                chance.getrandbits(32), cuts(source), wanted, strided)


def make_groups(count, cases, seed, folder):
    chance = random.Random(seed)
    for number in range(count):
        source, target = chance.choice(MESHES), chance.choice(MESHES)
        name = f"{number}: {source}->{target}"
        yield Group(name, source, target,
                    tuple(make_case(n, chance, source, target)
                          for n in range(cases)), str(folder / str(number)))


# --------------------------------------------------------------------- ranks

@functools.cache  # to make one, all ranks meet
def mesh_of(sizes):
    return init_device_mesh("cpu", sizes,
                            mesh_dim_names=tuple(NAMES[:len(sizes)]))


def save(rank, world, meeting, groups):
    resharding.quiet()
    with training.ranks(rank, world, meeting):
        for group in groups:
            mesh = mesh_of(group.source)
            state = {case.key: distribute_tensor(
                case.whole(), mesh, resharding.placements_of(case.source),
                src_data_rank=None) for case in group.cases}
            dcp.save({"t": state}, checkpoint_id=f"{group.folder}/from")


def empty(case, mesh):
    """A DTensor to load into, and the box of the tensor that this rank has."""
    placements = case.target_placements(mesh)
    shape, offset = compute_local_shape_and_global_offset(
        case.shape, mesh, placements)
    whole = torch.empty(case.shape, device="meta")
    local = torch.zeros(shape, dtype=case.dtype)
    made = DTensor.from_local(local, mesh, placements, run_check=False,
                              shape=whole.shape, stride=whole.stride())
    return made, (tuple(offset), tuple(shape))


def problems(group, mesh):
    """What is wrong with what this rank gets of the resharded checkpoint."""
    reader = dcp.FileSystemReader(f"{group.folder}/to")
    tensors = reader.read_metadata().state_dict_metadata
    made = {case.key: empty(case, mesh) for case in group.cases}
    dcp.load({"t": {key: value for key, (value, _) in made.items()}},
             storage_reader=reader)
    for case in group.cases:
        value, (offset, shape) = made[case.key]
        box = tuple(slice(at, at + size) for at, size in zip(offset, shape))
        found = deep_compare.first_difference(value.to_local(),
                                              case.whole()[box])
        if found:
            yield f"{case}: {found}"
        chunks = [(tuple(chunk.offsets), tuple(chunk.sizes))
                  for chunk in tensors[f"t.{case.key}"].chunks]
        if math.prod(shape) and (offset, shape) not in chunks:
            yield f"{case}: no chunk is {(offset, shape)}, of {chunks}"


def load(rank, world, meeting, groups, result):
    """Leaves what is wrong with each group in a file for each rank."""
    resharding.quiet()
    with training.ranks(rank, world, meeting):
        found = [list(problems(group, mesh_of(group.target)))
                 for group in groups]
    torch.save(found, f"{result}.{rank}")

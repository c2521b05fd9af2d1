"""Ask PyTorch which box of a tensor each rank of a mesh holds.

Writes torch_boxes.json, beside this script, which shard_of_test.cc compares
with. Each case has the shape, mesh and placements as dcpctl's options spell
them, and for each rank the local shape and global offset that DTensor
computes; where a placement is strided, also the row-major numbers of the
elements that the rank's tensor has, in its order.

usage: make_torch_boxes.py    (needs PyTorch 2.13 or later)
"""
import json
import math
import pathlib
import random
import re

import torch
from torch.distributed.tensor import Replicate, Shard
from torch.distributed.tensor._utils import (
    _compute_local_shape_and_global_offset)
from torch.distributed.tensor.placement_types import _StridedShard

TABLE = pathlib.Path(__file__).with_name("torch_boxes.json")
SEED = 5
RANDOM_CASES = 400
NAMES = "abc"  # of mesh dimensions

# (shape, sizes of the mesh dimensions, placements)
CHOSEN = [
    ([1, 17], [2], "a:shard(0)"),
    ([1], [4], "a:shard(0)"),
    ([5, 3], [2], "a:shard(0)"),
    ([5, 3], [3], "a:shard(0)"),
    ([5, 3], [7], "a:shard(0)"),
    ([8, 8], [2, 2], "a:shard(0),b:shard(1)"),
    ([8, 8], [2, 2], "a:shard(0),b:shard(0)"),
    ([8, 8], [2, 2], "a:strided_shard(0),b:shard(0)"),
    ([7, 2], [2, 2], "a:strided_shard(0),b:shard(0)"),
    ([4, 6, 5], [2, 3, 2], "a:shard(0),b:shard(1),c:shard(2)"),
    ([9], [4], "a:shard(0)"),
    ([0, 4], [3], "a:shard(0)"),
    ([4, 0], [3], "a:shard(0)"),
    ([3, 4], [2, 3], "a:replicate,b:shard(-1)"),
    ([16], [2, 2, 2], "a:strided_shard(0),b:strided_shard(0),c:shard(0)"),
    ([8], [2], "a:strided_shard(0,2)"),
    ([8], [2, 2], "a:shard(0),b:strided_shard(0,2)"),
]


def parse_mesh(text):
    return [int(part.split("=")[1]) for part in text.split(",")]


def parse_placements(text, shape, sizes):
    """Placements of PyTorch for dcpctl's spelling of them."""
    found = []
    for part in re.split(r",(?=\w+:)", text):
        kind, dim, factor = re.fullmatch(
            r"\w+:(\w+)(?:\((-?\d+)(?:,(\d+))?\))?", part).groups()
        found.append((kind, None if dim is None else int(dim) % len(shape),
                      factor and int(factor)))
    placements = []
    for i, (kind, dim, factor) in enumerate(found):
        if kind == "replicate":
            placements.append(Replicate())
        elif kind == "shard":
            placements.append(Shard(dim))
        else:
            # Without a factor: what FSDP2 computes for its own dimension.
            placements.append(_StridedShard(dim, split_factor=factor or (
                math.prod(size for size, (_, d, _) in
                          zip(sizes[i + 1:], found[i + 1:]) if d == dim))))
    return placements


def coordinates(rank, sizes):
    """Of a rank in row-major order, as init_device_mesh numbers them."""
    mesh = torch.arange(math.prod(sizes)).view(sizes)
    return (mesh == rank).nonzero()[0].tolist()


def local_elements(shape, sizes, coordinate, placements):
    """Numbers of the elements, found by cutting a tensor of them."""
    local = torch.arange(math.prod(shape)).view(shape)
    for size, c, placement in zip(sizes, coordinate, placements):
        if not placement.is_replicate():
            shards, _ = placement._split_tensor(local, size,
                                                with_padding=False)
            local = shards[c]
    return local


def answer(shape, mesh, placements):
    """What PyTorch says about a case."""
    sizes = parse_mesh(mesh)
    parsed = parse_placements(placements, shape, sizes)
    strided = "strided" in placements
    ranks, elements = [], []
    for rank in range(math.prod(sizes)):
        coordinate = coordinates(rank, sizes)
        local_shape, offset = _compute_local_shape_and_global_offset(
            shape, sizes, coordinate, parsed)
        ranks.append([list(local_shape), list(offset)])
        local = local_elements(shape, sizes, coordinate, parsed)
        assert list(local.shape) == ranks[-1][0]
        elements.append(local.flatten().tolist())
    return {"ranks": ranks} | ({"elements": elements} if strided else {})


def random_case(rng):
    strided = rng.random() < 0.3
    largest = 7 if strided else 20
    shape = [rng.randint(0 if rng.random() < 0.05 else 1, largest)
             for _ in range(rng.randint(1, 2 if strided else 4))]
    sizes = [rng.randint(1, 5) for _ in range(rng.randint(1, 3))]
    while math.prod(sizes) > 12:
        sizes[sizes.index(max(sizes))] -= 1
    placements = []
    for name in NAMES[:len(sizes)]:
        dim = rng.randint(-len(shape), len(shape) - 1)
        kind = rng.random()
        if strided and kind < 0.6:
            factor = rng.choice(["", f",{rng.randint(1, 5)}"])
            placements.append(f"{name}:strided_shard({dim}{factor})")
        elif kind < 0.8:
            placements.append(f"{name}:shard({dim})")
        else:
            placements.append(f"{name}:replicate")
    return shape, sizes, ",".join(placements)


def make_cases():
    rng = random.Random(SEED)
    for shape, sizes, placements in CHOSEN + [
            random_case(rng) for _ in range(RANDOM_CASES)]:
        mesh = ",".join(f"{name}={size}" for name, size in zip(NAMES, sizes))
        yield {"shape": shape, "mesh": mesh, "placements": placements,
               **answer(shape, mesh, placements)}


def write_table():
    version = torch.__version__.split("+")[0]
    lines = [json.dumps(case, separators=(",", ":")) for case in make_cases()]
    TABLE.write_text(f'{{"torch":"{version}","cases":[\n'
                     + ",\n".join(lines) + "\n]}\n")


if __name__ == "__main__":
    write_table()

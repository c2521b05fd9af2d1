"""Writes a row-sharded DCP checkpoint with PyTorch itself.

usage: make_checkpoint.py DIRECTORY MIB [RANKS]
Each of the ranks (default 8) is a process that saves its part of every tensor;
tensors have several sizes, up to 256 MiB or a quarter of the whole.
"""
import os
import socket
import sys

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
import torch.multiprocessing as mp
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor, Shard

SIZES = [256, 128, 64, 64, 32, 16, 16, 4, 1, 0.0625]  # MiB
COLUMNS = 1024


def plan(mib, ranks):
    """(name, rows, dtype) of tensors that have `mib` MiB in all, or hardly less."""
    tensors = []
    left = mib
    while left > 0.1:
        before = left
        for size in SIZES:
            if size > min(left, mib / 4):
                continue
            dtype = (torch.float32, torch.bfloat16)[len(tensors) % 2]
            rows = int(size * 2**20) // (COLUMNS * dtype.itemsize)
            rows -= rows % ranks
            if rows:
                tensors.append((f"layers.{len(tensors)}.weight", rows, dtype))
                left -= size
        if left == before:
            break
    return tensors


def save(rank, ranks, port, directory, mib):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    torch.set_num_threads(1)
    torch.manual_seed(rank)
    dist.init_process_group("gloo", rank=rank, world_size=ranks)
    mesh = init_device_mesh("cpu", (ranks,))
    state = {}
    for name, rows, dtype in plan(mib, ranks):
        local = torch.empty(rows // ranks, COLUMNS, dtype=dtype).uniform_()
        state[name] = DTensor.from_local(local, mesh, [Shard(0)], run_check=False)
    dcp.save({"model": state}, checkpoint_id=directory)
    dist.destroy_process_group()


def main():
    directory, mib = sys.argv[1], float(sys.argv[2])
    ranks = int(sys.argv[3]) if len(sys.argv) > 3 else 8
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    mp.spawn(save, args=(ranks, port, directory, mib), nprocs=ranks)


if __name__ == "__main__":
    main()

"""Write more DCP checkpoints: layouts and ways of saving of newer PyTorch.

Usage: python generate_more.py OUT_DIR [CASE ...]

Needs torch 2.13 or later, on the CPU, with the gloo back end. The output has
the same form as that of generate.py: <case>/ckpt and <case>/expected.json.
"""
import os
import pathlib
import sys

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
import torch.multiprocessing as mp
import torch.nn as nn
from torch.distributed.checkpoint.format_utils import dcp_to_torch_save
from torch.distributed.checkpoint.state_dict import get_state_dict
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import Replicate, Shard, distribute_tensor
from torch.distributed.tensor.parallel import (
    ColwiseParallel, RowwiseParallel, parallelize_module)

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from generate import (  # noqa: E402
    Toy, full, init, ramp, write_expected, write_index)


class Odd(nn.Module):
    """Layers whose sizes no mesh divides evenly."""

    def __init__(self):
        super().__init__()
        self.first = nn.Linear(16, 10)
        self.norm = nn.LayerNorm(10)
        self.last = nn.Linear(10, 5, bias=False)

    def forward(self, x):
        return self.last(self.norm(self.first(x)))


def line_mesh(world_size):
    return init_device_mesh("cpu", (world_size,))


def train_one_step(model, optimizer, rows=8):
    model(torch.rand(rows, 16)).sum().backward()
    optimizer.step()


def save_model(rank, out, case, model, optimizer, **more):
    """Save model and optimizer through get_state_dict."""
    model_state, optim_state = get_state_dict(model, optimizer)
    sd = {"model": model_state, "optim": optim_state, "step": 1}
    dcp.save(sd, checkpoint_id=str(out / case / "ckpt"))
    whole = full(sd)
    if rank == 0:
        write_expected(out, case, whole, **more)


def work_fsdp_tp(rank, world_size, out):
    """FSDP2 over tensor parallel: strided shards of dimension 0."""
    mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "tp"))
    model = Toy()
    parallelize_module(model, mesh["tp"], {"net1": ColwiseParallel(),
                                           "net2": RowwiseParallel()})
    fully_shard(model, mesh=mesh["dp"])
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
    train_one_step(model, optimizer)
    save_model(rank, out, "fsdp_tp", model, optimizer, world_size=world_size)


def work_hsdp_adam(rank, world_size, out):
    """Replicated over one mesh dimension, sharded over the other."""
    mesh = init_device_mesh("cpu", (2, 2),
                            mesh_dim_names=("replicate", "shard"))
    model = Odd()
    fully_shard(model, mesh=mesh)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
    train_one_step(model, optimizer)
    save_model(rank, out, "hsdp_adam", model, optimizer,
               world_size=world_size)


def work_uneven7(rank, world_size, out):
    """Sizes that 7 ranks can't share evenly, some with empty shards."""
    tensors = {
        "five": ramp(5, 3), "thirteen": ramp(13), "eight": ramp(8, 2),
        "fifteen": ramp(15, 2, dtype=torch.bfloat16), "one": ramp(1, 17),
        "columns": ramp(3, 9), "narrow": ramp(4, 2), "middle": ramp(2, 10, 3),
    }
    dims = {"columns": 1, "narrow": 1, "middle": 1}
    mesh = line_mesh(world_size)
    sd = {k: distribute_tensor(t, mesh, [Shard(dims.get(k, 0))])
          for k, t in tensors.items()}
    dcp.save(sd, checkpoint_id=str(out / "uneven7/ckpt"))
    if rank == 0:
        write_expected(out, "uneven7", tensors, world_size=world_size)


def work_bigdims(rank, world_size, out):
    """1 to 5 dimensions, each sharded in its turn."""
    sizes = (4, 3, 5, 2, 7)
    tensors, sd = {}, {}
    mesh = line_mesh(world_size)
    for rank_of_tensor in range(1, 6):
        t = ramp(*sizes[:rank_of_tensor], dtype=torch.int32)
        for dim in range(rank_of_tensor):
            key = f"d{rank_of_tensor}_by{dim}"
            tensors[key] = t
            sd[key] = distribute_tensor(t, mesh, [Shard(dim)])
    dcp.save(sd, checkpoint_id=str(out / "bigdims/ckpt"))
    if rank == 0:
        write_expected(out, "bigdims", tensors, world_size=world_size)


def objects_of(rank):
    """Values that are not the same on every rank."""
    return {
        "rank": rank,
        "name": f"rank {rank}",
        "loader": {"position": 10 * rank, "seen": [rank] * (rank + 1)},
        f"only_{rank}": ("from", rank),
        "same": 5,
    }


def work_rank_objects(rank, world_size, out):
    """Objects that differ between ranks: one rank's value is kept."""
    tensors = {"w": ramp(9, 4), "b": ramp(4)}
    mesh = line_mesh(world_size)
    sd = {"w": distribute_tensor(tensors["w"], mesh, [Shard(0)]),
          "b": distribute_tensor(tensors["b"], mesh, [Replicate()]),
          **objects_of(rank)}
    dcp.save(sd, checkpoint_id=str(out / "rank_objects/ckpt"))
    if rank == 0:
        converted = out / "converted.pt"
        dcp_to_torch_save(str(out / "rank_objects/ckpt"), str(converted))
        found = torch.load(converted, weights_only=False)
        converted.unlink()
        write_expected(
            out, "rank_objects", found, world_size=world_size, complete=True,
            note="objects differ between ranks; these are the values that "
                 "PyTorch's own converter finds")


def work_rank_objects_no_collectives(rank, world_size, out):
    """The same with metadata of every rank's own."""
    tensors = {"w": ramp(8, 3), "b": ramp(4)}
    mesh = line_mesh(world_size)
    sd = {"w": distribute_tensor(tensors["w"], mesh, [Shard(0)]),
          "b": tensors["b"], **objects_of(rank)}
    case = "rank_objects_no_collectives"
    dcp.save(sd, checkpoint_id=str(out / case / "ckpt"),
             use_collectives=False)
    if rank == 0:
        merged = {**tensors}
        for r in range(world_size):
            for k, v in objects_of(r).items():
                merged.setdefault(k, v)
        write_expected(
            out, case, merged, world_size=world_size, complete=True,
            note="objects differ between ranks; these are the values of the "
                 "lowest rank that has the key")


def work_async(rank, world_size, out):
    """dcp.async_save; the state changes after the call and must not show."""
    tensors = {"w": ramp(6, 4), "b": ramp(3)}
    mesh = line_mesh(world_size)
    plain = tensors["b"].clone()
    sd = {"w": distribute_tensor(tensors["w"], mesh, [Shard(0)]),
          "nested": {"b": plain, "epoch": 9}}
    future = dcp.async_save(sd, checkpoint_id=str(out / "async/ckpt"))
    plain.fill_(-1.0)
    future.result()
    dist.barrier()
    if rank == 0:
        write_expected(out, "async",
                       {"w": tensors["w"],
                        "nested": {"b": tensors["b"], "epoch": 9}},
                       world_size=world_size)


def work_overwritten_first(rank, world_size, out):
    """What lies in the directory before the second save."""
    mesh = line_mesh(world_size)
    sd = {"w": distribute_tensor(-ramp(10, 3), mesh, [Shard(0)]),
          "old": distribute_tensor(ramp(8), mesh, [Shard(0)]), "epoch": 1}
    dcp.save(sd, checkpoint_id=str(out / "overwritten/ckpt"))


def work_overwritten_second(rank, world_size, out):
    """Fewer ranks, other keys: files of the first save stay behind."""
    mesh = line_mesh(world_size)
    w, v = ramp(10, 3), ramp(2, 2)
    sd = {"w": distribute_tensor(w, mesh, [Shard(0)]), "v": v, "epoch": 2}
    dcp.save(sd, checkpoint_id=str(out / "overwritten/ckpt"))
    if rank == 0:
        write_expected(out, "overwritten", {"w": w, "v": v, "epoch": 2},
                       world_size=world_size)


def run_rank(rank, name, world_size, port, out):
    """Entry point of a spawned process."""
    init(rank, world_size, port)
    globals()[name](rank, world_size, out)
    dist.barrier()
    dist.destroy_process_group()


CASES = {
    "fsdp_tp": [("work_fsdp_tp", 4)],
    "hsdp_adam": [("work_hsdp_adam", 4)],
    "uneven7": [("work_uneven7", 7)],
    "bigdims": [("work_bigdims", 3)],
    "rank_objects": [("work_rank_objects", 3)],
    "rank_objects_no_collectives": [("work_rank_objects_no_collectives", 3)],
    "async": [("work_async", 2)],
    "overwritten": [("work_overwritten_first", 4),
                    ("work_overwritten_second", 2)],
}


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    # Relative paths from here on: DCP records the path it was given.
    target = pathlib.Path(sys.argv[1])
    target.mkdir(parents=True, exist_ok=True)
    os.chdir(target)
    out = pathlib.Path(".")
    port = 29920 + os.getpid() % 400
    for case in sys.argv[2:] or CASES:
        (out / case).mkdir(exist_ok=True)
        for name, world_size in CASES[case]:
            port += 1
            mp.spawn(run_rank, args=(name, world_size, port, out),
                     nprocs=world_size)
    write_index(out, {})


if __name__ == "__main__":
    main()

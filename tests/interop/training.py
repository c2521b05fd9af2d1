"""A small training run that can be saved and continued on any ranks.

What the functions here do in each process depends on nothing but their
arguments, so that two runs from equal checkpoints give equal losses.
"""
import contextlib
import hashlib

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint.state_dict import (get_state_dict,
                                                     set_state_dict)
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

import deep_compare

WORDS = 61  # not to be divided by 2, 3 or 4
WIDTH = 42
BATCH = 12


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = torch.nn.LayerNorm(WIDTH)
        self.up = torch.nn.Linear(WIDTH, 2 * WIDTH)
        self.down = torch.nn.Linear(2 * WIDTH, WIDTH)

    def forward(self, x):
        return x + self.down(torch.nn.functional.gelu(self.up(self.norm(x))))


class Model(torch.nn.Module):
    """Predicts a word from two; in and out have the same weights."""

    def __init__(self):
        super().__init__()
        self.embedding = torch.nn.Embedding(WORDS, WIDTH)
        torch.nn.init.normal_(self.embedding.weight, std=0.1)
        self.block = Block()
        self.head = torch.nn.Linear(WIDTH, WORDS, bias=False)
        self.head.weight = self.embedding.weight
        self.register_buffer("seen", torch.zeros(WORDS, dtype=torch.bfloat16))

    def forward(self, words):
        self.seen += torch.bincount(words.flatten(), minlength=WORDS)
        scale = 1 + 1e-3 * self.seen.float().mean()
        return self.head(self.block(self.embedding(words).mean(1))) * scale


class Training:
    """Model, optimizer and the number of the step."""

    def __init__(self, seed):
        torch.manual_seed(seed)
        self.model = Model()
        if dist.is_initialized():
            mesh = init_device_mesh("cpu", (dist.get_world_size(),))
            fully_shard(self.model.block, mesh=mesh)
            fully_shard(self.model, mesh=mesh)
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=3e-3)
        self.step = 0

    def state(self):
        model, optimizer = get_state_dict(self.model, self.optimizer)
        return {"model": model, "optim": optimizer, "step": self.step}

    def save(self, folder):
        dcp.save(self.state(), checkpoint_id=folder)

    def load(self, folder):
        state = self.state()
        dcp.load(state, checkpoint_id=folder)
        set_state_dict(self.model, self.optimizer,
                       model_state_dict=state["model"],
                       optim_state_dict=state["optim"])
        self.step = state["step"]

    def run(self, steps):
        """The losses, as text that keeps every bit."""
        losses = []
        for _ in range(steps):
            losses.append(self._step().hex())
            self.step += 1
        return losses

    def _step(self):
        words = torch.randint(WORDS, (BATCH, 3), generator=torch.Generator()
                              .manual_seed(self.step))
        if dist.is_initialized():
            words = words.tensor_split(dist.get_world_size())[dist.get_rank()]
        loss = torch.nn.functional.cross_entropy(self.model(words[:, :2]),
                                                 words[:, 2])
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item()

    def digest(self):
        """Of this rank's part of everything that is saved."""
        digest = hashlib.sha256()

        def add(value):
            if isinstance(value, dict):
                for key, item in value.items():
                    digest.update(repr(key).encode())
                    add(item)
            elif isinstance(value, list):
                for item in value:
                    add(item)
            elif isinstance(value, torch.Tensor):
                local = getattr(value, "_local_tensor", value)
                digest.update(deep_compare.tensor_bytes(local))
            else:
                digest.update(repr(value).encode())

        add(self.state())
        return digest.hexdigest()


@contextlib.contextmanager
def ranks(rank, world, meeting):
    """The process group; none when world is 0."""
    torch.set_num_threads(1)
    # As use_deterministic_algorithms(True), which imports the compiler, too.
    torch.set_deterministic_debug_mode("error")
    if world:
        dist.init_process_group("gloo", init_method=f"file://{meeting}",
                                rank=rank, world_size=world)
    try:
        yield
    finally:
        if world:
            dist.destroy_process_group()


def save(rank, world, meeting, folder, steps):
    """Trains from the beginning and saves."""
    with ranks(rank, world, meeting):
        training = Training(seed=1)
        training.run(steps)
        training.save(folder)


def go_on(rank, world, meeting, folders, steps, result):
    """Goes on from each checkpoint, and leaves losses and digests in files.

    Each begins with other weights, so that none is there already.
    """
    with ranks(rank, world, meeting):
        found = []
        for seed, folder in enumerate(folders, start=2):
            training = Training(seed)
            training.load(folder)
            losses = training.run(steps)
            found.append((training.step, losses, training.digest()))
        torch.save(found, f"{result}.{rank}")

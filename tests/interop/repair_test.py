"""repair, judged by PyTorch: it loads what a step held that lost its metadata.

A few steps of a training are saved with several writer threads and several
sizes of objects; the metadata of a later one is removed and made anew from
that of an earlier one.
"""
import logging
import pathlib
import shutil
import sys
import tempfile
import warnings

import torch
import torch.distributed.checkpoint as dcp

import harness

warnings.filterwarnings("ignore")
logging.disable(logging.CRITICAL)  # PyTorch logs each failure of its own

WRITERS = {
    "one thread": dict(),
    "three threads": dict(thread_count=3),
    "a file for each item": dict(single_file_per_rank=False),
}


def state_of(model, optimizer, step):
    return {"model": model.state_dict(), "optim": optimizer.state_dict(),
            "step": step, "log": "x" * step * 100, "history": [0.5] * step}


def same(a, b):
    if isinstance(a, torch.Tensor):
        return isinstance(b, torch.Tensor) and torch.equal(a, b)
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[k], b[k]) for k in a)
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(same, a, b))
    return a == b


def blank(value):
    """The same shapes with other contents, to be loaded into."""
    if isinstance(value, torch.Tensor):
        return torch.full_like(value, 77)
    if isinstance(value, dict):
        return {k: blank(v) for k, v in value.items()}
    if isinstance(value, list) and any(
            isinstance(v, (dict, torch.Tensor)) for v in value):
        return [blank(v) for v in value]
    return None


def train(folder, options):
    """Saves the steps; returns the states."""
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.Linear(16, 4))
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)
    states = []
    for step in (1, 2, 30):
        optimizer.zero_grad()
        model(torch.randn(5, 8)).square().mean().backward()
        optimizer.step()
        state = state_of(model, optimizer, step)
        dcp.save(state, storage_writer=dcp.FileSystemWriter(
            folder / f"step-{step}", **options))
        states.append({k: v for k, v in torch.utils._pytree.tree_map(
            lambda v: v.clone() if isinstance(v, torch.Tensor) else v,
            state).items()})
    return states


def main():
    arguments = harness.parse_arguments(__doc__.splitlines()[0])
    report = harness.Report()
    for name, options in WRITERS.items():
        with tempfile.TemporaryDirectory(dir=harness.scratch()) as folder:
            folder = pathlib.Path(folder)
            last = train(folder, options)[-1]
            lost = folder / "step-30"
            shutil.copytree(lost, folder / "whole")
            (lost / ".metadata").unlink()
            result = harness.run(arguments.dcpctl, "repair", lost, "--like",
                                 folder / "step-1")
            report.check(f"{name}: repair", result.status == 0,
                         result.summary())
            result = harness.run(arguments.dcpctl, "verify", lost,
                                 "--payload", "--strict")
            report.check(f"{name}: verify", result.status == 0,
                         result.out.decode())
            result = harness.run(arguments.dcpctl, "compare", lost,
                                 folder / "whole")
            report.check(f"{name}: compare", result.status == 0,
                         result.out.decode())
            loaded = blank(last)
            try:
                dcp.load(loaded, checkpoint_id=lost)
                report.check(f"{name}: PyTorch loads it", same(last, loaded),
                             "another state")
            except Exception as e:
                report.check(f"{name}: PyTorch loads it", False, repr(e))
            result = harness.run(arguments.dcpctl, "repair", lost, "--like",
                                 folder / "step-1")
            report.check(f"{name}: never over a file", result.status == 3,
                         result.summary())
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())

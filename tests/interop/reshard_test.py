"""PyTorch saves on one mesh, dcpctl reshards, PyTorch loads on another.

Ranks of gloo load into models of FSDP2, of FSDP2 over tensor parallelism, of
HSDP, and into DTensors: every value is the source's to the last bit, and each
rank reads one whole record for each value, its parts from its own file. Every
checkpoint of testdata is resharded for several layouts, too: PyTorch's own
converter finds the same in the result as in the source, and with the layout
of the source the result has the source's chunks.
"""
import dataclasses
import json
import logging
import math
import pathlib
import sys
import tempfile
import typing
import warnings

import torch
from torch.distributed.checkpoint.api import CheckpointException
from torch.distributed.checkpoint.format_utils import dcp_to_torch_save

import deep_compare
import harness
import processes
import resharding
from torch_to_dcp_test import TorchToDcpTest

warnings.filterwarnings("ignore")
logging.disable(logging.CRITICAL)

SAVING_RANKS = 8
LAYOUTS = {
    "1 rank": ["--world-size", "1"],
    "2 ranks": ["--world-size", "2"],
    "3 ranks": ["--world-size", "3"],
    "7 ranks": ["--world-size", "7"],
    "2x3 ranks": ["--layout", "2x3.json"],
}
FILE = {"schema": "dcpctl.layout/1", "mesh": {"a": 2, "b": 3},
        "default": "a:strided_shard(0),b:shard(0)"}
# Threads and memory that must not show in the result.
RUNS = [(jobs, memory) for jobs in (1, 2, 7) for memory in ("4MiB", "256MiB")]
RUN_ON = ("torch-2.13.0/recipe_fsdp2", "torch-2.13.0-more/bigdims",
          "torch-2.13.0/zstd")


@dataclasses.dataclass(frozen=True)
class Pair:
    """A checkpoint of some ranks, and how others load it."""

    source: str  # below testdata/, or made here
    mesh: dict
    layout: typing.Callable
    placements: tuple = ()


PAIRS = {
    "(8)->(3)": Pair("8", {"fsdp": 3}, resharding.trained,
                     ("model.seen=replicate",)),
    "(4)->(4,2)": Pair(
        "torch-2.13.0/recipe_fsdp2", {"dp": 4, "tp": 2}, resharding.toy_2d,
        ("**.net1=dp:strided_shard(0),tp:shard(0)",
         "**.net2.weight=dp:shard(0),tp:shard(1)")),
    "(2,2)->(8)": Pair("torch-2.13.0-more/fsdp_tp", {"fsdp": 8},
                       resharding.toy),
    "(2,2,2)->(4)": Pair(
        "2,2,2", {"x": 4}, resharding.made,
        tuple(f"t.{key}=shard({one[0]})" if one[0] is not None
              else f"t.{key}=replicate"
              for key, (_, _, _, one) in resharding.MADE.items())),
    "(4)->(2,2,2)": Pair(
        "4", {"x": 2, "y": 2, "z": 2}, resharding.made,
        tuple(f"t.{key}=" + ",".join(f"{name}:shard({dim})" for name, dim
                                     in zip("xyz", dims) if dim is not None)
              for key, (_, _, dims, _) in resharding.MADE.items()
              if any(dim is not None for dim in dims))
        + ("t.copied=replicate",)),
    "(2,2) HSDP->(2,4) HSDP": Pair(
        "torch-2.13.0-more/hsdp_adam", {"replicate": 2, "shard": 4},
        resharding.odd),
    "(2,2) HSDP->(3)": Pair("torch-2.13.0-more/hsdp_adam", {"fsdp": 3},
                            resharding.odd),
    "(2,2)->(2,2) HSDP": Pair(
        "torch-2.13.0-more/fsdp_tp", {"dp_replicate": 2, "dp_shard": 2},
        resharding.toy),
}
# Sources made of others by dcpctl: name -> (source, arguments).
RESHARDED = {"4": ("2,2,2", ["--world-size", "4"])}


def load(path):
    return torch.load(path, map_location="cpu", weights_only=False)


def files_of(folder):
    return {p.relative_to(folder): p.read_bytes()
            for p in sorted(folder.rglob("*")) if p.is_file()}


class ReshardTest:
    def __init__(self, arguments, work):
        import check
        check.make_classes_importable()
        self.dcpctl = arguments.dcpctl
        self.testdata = arguments.testdata
        self.only = arguments.only
        self.work = work
        self.report = harness.Report()

    def run(self):
        self.run_pairs()
        (self.work / "2x3.json").write_text(json.dumps(FILE))
        for name, folder in self.checkpoints():
            with tempfile.TemporaryDirectory(dir=self.work) as work:
                self.run_layouts(name, folder, pathlib.Path(work))
        return self.report.finish()

    def reshard(self, name, source, out, arguments):
        result = harness.run(self.dcpctl, "reshard", source, out, *arguments,
                             cwd=self.work)
        return self.report.check(f"{name}: reshard", result.status == 0,
                                 result.summary())

    # ---------------------------------------------------- loaded by ranks

    def run_pairs(self):
        pairs = {name: pair for name, pair in PAIRS.items()
                 if self.only in (None, name)}
        if not pairs:
            return
        processes.spawn(resharding.save, SAVING_RANKS, self.work, self.work)
        for name, (source, arguments) in RESHARDED.items():
            self.reshard(name, self.source(source), self.work / name,
                         arguments)
        by_world = {}
        for name, pair in pairs.items():
            one = self.prepare(name, pair)
            if one:
                world = math.prod(pair.mesh.values())
                by_world.setdefault(world, []).append(one)
        for world, loads in by_world.items():
            self.load(world, loads)

    def source(self, name):
        made = self.work / name
        return made if made.is_dir() else self.testdata / name / "ckpt"

    def prepare(self, name, pair):
        out = self.work / f"resharded {name.replace('/', ' ')}"
        expected = out.with_suffix(".pt")
        source = self.source(pair.source)
        mesh = ",".join(f"{dim}={size}" for dim, size in pair.mesh.items())
        arguments = ["--mesh", mesh]
        for rule in pair.placements:
            arguments += ["--placement", rule]
        if not self.reshard(name, source, out, arguments):
            return None
        dcp_to_torch_save(str(source), str(expected))
        return resharding.Load(name, str(out), pair.mesh, pair.layout,
                               str(expected))

    def load(self, world, loads):
        result = self.work / "found"
        processes.spawn(resharding.load, world, self.work, loads, result)
        found = [load(f"{result}.{rank}") for rank in range(world)]
        for i, one in enumerate(loads):
            wrong = [f"rank {rank}: {problem}" for rank in range(world)
                     for problem in found[rank][i][0]]
            self.report.check(f"{one.name}: values and reads of {world} ranks",
                              not wrong, "; ".join(wrong[:5]))
            counts = [of_rank[i][1] for of_rank in found]
            total = {key: sum(of_rank[key] for of_rank in counts)
                     for key in counts[0]}
            print(f"note {one.name}: {total['own']} records from own files, "
                  f"{total['others']} from others'; {total['backward']} times "
                  "back in the own file", flush=True)

    # --------------------------------------------- without a process group

    def checkpoints(self):
        for version in sorted(self.testdata.glob("torch-*")):
            for case in sorted(version.iterdir()):
                names = (version.name, case.name,
                         f"{version.name}/{case.name}")
                if self.only and self.only not in names:
                    continue
                if (case / "ckpt").is_dir() and case.name != "hf_sharded":
                    yield names[2], case / "ckpt"

    def run_layouts(self, name, source, work):
        expected = self.state_of(source, work)
        for layout, arguments in LAYOUTS.items():
            out = work / layout.replace(" ", "_")
            one = f"{name} for {layout}"
            if not self.reshard(one, source, out, arguments):
                continue
            state = self.state_of(out, work)
            found = deep_compare.first_difference(expected, state)
            self.report.check(f"{one}: the same to PyTorch", found is None,
                              found)
        self.check_like(name, source, work)
        if name in RUN_ON:
            self.check_runs(name, source, work)

    def state_of(self, checkpoint, work):
        """As PyTorch's converter finds it; as dcpctl does where that fails.

        It fails for a list with a gap; of sources also for those that are too
        new, and it takes the metadata of one rank for all where each has one.
        """
        target = work / "state.pt"
        if (checkpoint / ".metadata").is_file():
            try:
                dcp_to_torch_save(str(checkpoint), str(target))
                return load(target)
            except (Exception, CheckpointException) as e:
                if checkpoint.parent == work:
                    why = TorchToDcpTest.why_pytorch_cannot(checkpoint)
                    self.report.check(f"{checkpoint.name}: PyTorch reads it",
                                      why, repr(e)[:200])
        harness.run(self.dcpctl, "dcp_to_torch", "--force", checkpoint, target)
        return load(target)

    def check_like(self, name, source, work):
        """Back to the layout of the source."""
        back = work / "back"
        if self.reshard(f"{name} back", work / "7_ranks", back,
                        ["--like", source]):
            theirs, ours = self.boxes_of(source), self.boxes_of(back)
            odd = [key for key in theirs if theirs[key] != ours.get(key)]
            self.report.check(
                f"{name} back: the source's chunks", not odd,
                odd and f"{odd[0]}: {ours.get(odd[0])} != {theirs[odd[0]]}")

    def boxes_of(self, checkpoint):
        """Of each tensor the chunks that hold anything, and their ranks."""
        result = harness.run(self.dcpctl, "inspect", "--json", checkpoint)
        document = json.loads(result.out)
        rank_of = {file["path"]: file.get("rank") for file
                   in document["files"]}
        return {
            entry["key"]: sorted(
                (chunk["offsets"], chunk["sizes"], rank_of[chunk["file"]])
                for chunk in entry["chunks"]
                if math.prod(chunk["sizes"]) or not math.prod(entry["shape"]))
            for entry in document["entries"] if entry["kind"] == "tensor"}

    def check_runs(self, name, source, work):
        wanted = None
        for jobs, memory in RUNS:
            out = work / f"run_{jobs}_{memory}"
            self.reshard(f"{name} -j {jobs} --memory {memory}", source, out,
                         [*LAYOUTS["3 ranks"], "-j", jobs, "--memory",
                          memory])
            wanted = wanted or files_of(out)
            self.report.check(f"{name} -j {jobs} --memory {memory}: the same "
                              "bytes", files_of(out) == wanted, "they differ")


def main():
    arguments = harness.parse_arguments(__doc__.splitlines()[0])
    processes.prepare()
    with tempfile.TemporaryDirectory(dir=harness.scratch()) as work:
        return ReshardTest(arguments, pathlib.Path(work)).run()


if __name__ == "__main__":
    sys.exit(main())

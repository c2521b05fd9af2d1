"""PyTorch loads generated tensors on the mesh that dcpctl resharded them for.

Ranks of gloo save random tensors with random placements on one mesh, dcpctl
cuts them for another, and ranks of that load them: each gets the bits of its
part of the source, which lies in one chunk. --count pairs of meshes have 40
tensors each.
"""
import collections
import math
import pathlib
import sys
import tempfile

import torch

import harness
import meshes
import processes

CASES = 40


class MeshesTest:
    def __init__(self, arguments, work):
        self.dcpctl = arguments.dcpctl
        self.work = work
        self.count = arguments.count
        self.seed = arguments.seed
        self.report = harness.Report()

    def run(self):
        groups = list(meshes.make_groups(self.count, CASES, self.seed,
                                         self.work))
        for world, some in self.by_world(groups, "source"):
            processes.spawn(meshes.save, world, self.work, some)
        good = [group for group in groups if self.reshard(group)]
        for world, some in self.by_world(good, "target"):
            result = self.work / "found"
            processes.spawn(meshes.load, world, self.work, some, result)
            found = [torch.load(f"{result}.{rank}") for rank in range(world)]
            for number, group in enumerate(some):
                wrong = [f"rank {rank}: {problem}" for rank in range(world)
                         for problem in found[rank][number]]
                self.report.check(f"{group.name}: {CASES} tensors", not wrong,
                                  "; ".join(wrong[:3]))
        print(f"note {len(good) * CASES} tensors were resharded", flush=True)
        return self.report.finish()

    @staticmethod
    def by_world(groups, side):
        worlds = collections.defaultdict(list)
        for group in groups:
            worlds[math.prod(getattr(group, side))].append(group)
        return sorted(worlds.items())

    def reshard(self, group):
        sizes = ",".join(f"{name}={size}"
                         for name, size in zip(meshes.NAMES, group.target))
        options = [option for case in group.cases
                   for option in ("--placement", case.rule())]
        result = harness.run(self.dcpctl, "reshard", f"{group.folder}/from",
                             f"{group.folder}/to", "--mesh", sizes, *options)
        return self.report.check(f"{group.name}: reshard", result.status == 0,
                                 result.summary())


def main():
    arguments = harness.parse_arguments(
        __doc__.splitlines()[0],
        count={"type": int, "default": 50, "help": "pairs of meshes"},
        seed={"type": int, "default": 1, "help": "of the generator"})
    processes.prepare()
    with tempfile.TemporaryDirectory(dir=harness.scratch()) as work:
        return MeshesTest(arguments, pathlib.Path(work)).run()


if __name__ == "__main__":
    sys.exit(main())

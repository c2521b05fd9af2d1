"""Training goes on from what dcpctl wrote exactly as from what PyTorch wrote.

A small model with FSDP2 and Adam is trained and saved (A) on some numbers of
ranks and without a process group. dcpctl makes a torch.save file of A and a
checkpoint (B) of that file. Whatever the number of ranks that load them, the
losses from B equal those from A to the last bit, and so does all state after
it. PyTorch's converters read B, and dcpctl reads what they make.
"""
import logging
import pathlib
import sys
import tempfile
import warnings

import torch
from torch.distributed.checkpoint.format_utils import (dcp_to_torch_save,
                                                       torch_save_to_dcp)

import deep_compare
import harness
import processes
import training

warnings.filterwarnings("ignore")
logging.disable(logging.CRITICAL)

NO_GROUP = 0
SAVED_BY = [NO_GROUP, 2, 4]
LOADED_BY = [NO_GROUP, 1, 2, 3, 4]
STEPS_BEFORE = 5
STEPS_AFTER = 4


def load(path):
    return torch.load(path, map_location="cpu", weights_only=False)


def name_of(world):
    return f"{world} rank{'s' * (world > 1)}" if world else "no group"


class TrainingTest:
    def __init__(self, arguments, work):
        self.dcpctl = arguments.dcpctl
        self.work = work
        self.report = harness.Report()

    def run(self):
        pairs = {world: self.checkpoints(world) for world in SAVED_BY}
        pairs = {world: pair for world, pair in pairs.items() if pair}
        for world in LOADED_BY:
            self.compare(world, pairs)
        return self.report.finish()

    def checkpoints(self, world):
        """A and B; None if there is no B."""
        name = f"saved by {name_of(world)}"
        saved = self.work / f"{world}-a"
        processes.spawn(training.save, world, self.work, saved, STEPS_BEFORE)
        file, back = self.work / f"{world}.pt", self.work / f"{world}-b"
        for command in (["dcp_to_torch", saved, file],
                        ["torch_to_dcp", file, back]):
            result = harness.run(self.dcpctl, *command)
            if not self.report.check(f"{name}: {command[0]}",
                                     result.status == 0, result.summary()):
                return None
        self.check_contents(name, saved, file, back)
        return saved, back

    def check_contents(self, name, saved, file, back):
        """Whoever converts whichever, it holds the same."""
        def check(what, path):
            found = deep_compare.first_difference(want, load(path))
            self.report.check(f"{name}: {what}", found is None, found)

        result = self.work / "result.pt"
        dcp_to_torch_save(str(saved), str(result))
        want = load(result)
        check("dcpctl's file holds what PyTorch's does", file)
        dcp_to_torch_save(str(back), str(result))
        check("PyTorch reads dcpctl's checkpoint", result)
        theirs = self.work / "theirs"
        torch_save_to_dcp(str(file), str(theirs))
        done = harness.run(self.dcpctl, "dcp_to_torch", "--force", theirs,
                           result)
        self.report.check(f"{name}: dcp_to_torch of PyTorch's checkpoint",
                          done.status == 0, done.summary())
        check("dcpctl reads PyTorch's checkpoint of its file", result)

    def compare(self, world, pairs):
        """Goes on from all checkpoints on as many ranks."""
        folders = [folder for pair in pairs.values() for folder in pair]
        result = self.work / "losses"
        processes.spawn(training.go_on, world, self.work, folders,
                        STEPS_AFTER, result)
        found = [load(f"{result}.{rank}") for rank in range(max(world, 1))]
        for i, saved_by in enumerate(pairs):
            ours = [of_rank[2 * i + 1] for of_rank in found]
            theirs = [of_rank[2 * i] for of_rank in found]
            name = (f"saved by {name_of(saved_by)}, loaded by "
                    f"{name_of(world)}")
            steps = {step for step, _, _ in ours + theirs}
            self.report.check(f"{name}: went on",
                              steps == {STEPS_BEFORE + STEPS_AFTER}, steps)
            same = self.report.check(
                f"{name}: equal losses",
                [losses for _, losses, _ in ours]
                == [losses for _, losses, _ in theirs],
                f"{ours[0][1]} != {theirs[0][1]}")
            self.report.check(f"{name}: equal state", ours == theirs,
                              "digests differ")
            last = float.fromhex(theirs[0][1][-1])
            print(f"note {name}: loss of rank 0 from {last:.9f}, "
                  f"{'equal' if same else 'not equal'}")


def main():
    arguments = harness.parse_arguments(__doc__.splitlines()[0])
    processes.prepare()
    with tempfile.TemporaryDirectory(dir=harness.scratch()) as work:
        return TrainingTest(arguments, pathlib.Path(work)).run()


if __name__ == "__main__":
    sys.exit(main())

"""Random state dicts through torch_to_dcp and dcp_to_torch and back.

What comes back is compared, bit by bit, with what flattening.py says that it
must be. On a sample PyTorch's own two converters are asked as well: each must
make of its own conversion, and of dcpctl's, what flattening.py says.
"""
import collections
import logging
import pathlib
import shutil
import sys
import tempfile
import warnings

import torch
from torch.distributed.checkpoint.api import CheckpointException
from torch.distributed.checkpoint.format_utils import (dcp_to_torch_save,
                                                       torch_save_to_dcp)

import deep_compare
import flattening
import harness
from random_state import RandomState

warnings.filterwarnings("ignore")
logging.disable(logging.CRITICAL)  # PyTorch logs each failure of its own

SAMPLE = 5  # one case in so many is given to PyTorch, too
PROTOCOLS = [2, 2, 2, 2, 3, 4, 5]
RECURSION = 20000  # of the comparison of what is nested deeply


class Wrong(Exception):
    """What a case got wrong."""


def need(ok, what):
    if not ok:
        raise Wrong(what)


def load(path):
    return torch.load(path, map_location="cpu", weights_only=False)


def shown(path):
    """A place, as the program's messages have it; None for odd names."""
    def is_plain(name):
        return (len(name) < 60 and name.isascii() and name.isprintable()
                and not set(name) & set('"\\'))

    if not all(isinstance(e, int) or is_plain(e) for e in path):
        return None
    return "".join(f"[{e}]" if isinstance(e, int) else f'["{e}"]'
                   for e in path)


class Case:
    """One state dict; its seed tells everything about it."""

    def __init__(self, seed, dcpctl, work):
        made = RandomState(seed)
        self.state = made.make()
        self.counts = made.counts
        self.rng = made.rng
        self.dcpctl = dcpctl
        self.input = work / "input.pt"
        self.checkpoint = work / "ckpt"
        self.output = work / "output.pt"

    def run(self, sampled):
        self.save()
        result = harness.run(self.dcpctl, "torch_to_dcp", self.input,
                             self.checkpoint)
        pairs = flattening.collisions(self.state)
        if pairs:
            self.counts["refused keys that collide"] += 1
            return self.check_collision(pairs, result)
        int_keys = self.rng.random() < 0.2
        try:
            want = flattening.expected(self.state, int_keys)
        except flattening.Conflict:
            self.counts["refused paths that collide"] += 1
            return need(result.status == 3
                        and b"would both become" in result.err,
                        f"paths collide: {result.summary()}")
        need(result.status == 0, f"torch_to_dcp: {result.summary()}")
        result = harness.run(self.dcpctl, "dcp_to_torch", self.checkpoint,
                             self.output, *["--int-keys"] * int_keys)
        need(result.status == 0, f"dcp_to_torch: {result.summary()}")
        found = flattening.difference(want, load(self.output), strict=True)
        need(found is None, found)
        if sampled:
            self.ask_pytorch()
        return None

    def save(self):
        crc32 = torch.serialization.get_crc32_options()
        torch.serialization.set_crc32_options(self.rng.random() < 0.8)
        try:
            torch.save(self.state, self.input,
                       pickle_protocol=self.rng.choice(PROTOCOLS))
        finally:
            torch.serialization.set_crc32_options(crc32)
        # Pickling changes some: numpy's arrays get this machine's byte order.
        self.state = load(self.input)

    def check_collision(self, pairs, result):
        need(result.status == 3, f"keys collide: {result.summary()}")
        need(not self.checkpoint.exists(), "keys collide: output is there")
        text = result.err.decode()
        places = [[shown(leaf.path) for leaf in pair] for pair in pairs]
        need(any(None in pair
                 or f"{pair[0]} and {pair[1]} both get the key" in text
                 for pair in places),
             f"none of {places} is named: {result.summary()}")

    def ask_pytorch(self):
        """Its converters do not take all that dcpctl takes."""
        why = flattening.why_pytorch_cannot(self.state)
        if why:
            self.counts[f"PyTorch can't: {why}"] += 1
            return
        # As it will be once PyTorch has pickled it by protocol 2, which has no
        # place for datetime.fold, for one.
        torch.save(self.state, self.output)
        want = flattening.expected(load(self.output))
        self.check_read_by_pytorch(want)
        if any(isinstance(leaf.value, torch.Tensor)
               and not flattening.is_tensor_entry(leaf.value)
               for leaf in flattening.leaves(self.state)):
            self.counts["PyTorch can't: tensor without a form in DCP"] += 1
            return
        self.check_rule_of_pytorch(want)

    def check_read_by_pytorch(self, want):
        """It reads the checkpoint that dcpctl wrote."""
        try:
            dcp_to_torch_save(str(self.checkpoint), str(self.output))
        except CheckpointException as e:  # is no Exception
            raise Wrong(f"PyTorch: {reason_of(e)}")
        found = flattening.difference(want, load(self.output), strict=False)
        need(found is None, f"dcpctl's checkpoint read by PyTorch: {found}")
        self.counts["PyTorch reads dcpctl's"] += 1

    def check_rule_of_pytorch(self, want):
        """Its own round trip does what flattening.py says."""
        shutil.rmtree(self.checkpoint)
        try:
            torch_save_to_dcp(str(self.input), str(self.checkpoint))
            dcp_to_torch_save(str(self.checkpoint), str(self.output))
        except (Exception, CheckpointException) as e:
            self.counts[f"PyTorch fails: {reason_of(e)}"] += 1
            return
        found = flattening.difference(want, load(self.output), strict=False)
        need(found is None, f"PyTorch's own round trip: {found}")
        self.counts["PyTorch equal by itself"] += 1
        result = harness.run(self.dcpctl, "dcp_to_torch", self.checkpoint,
                             self.output, "--force")
        need(result.status == 0,
             f"dcp_to_torch of PyTorch's: {result.summary()}")
        found = flattening.difference(want, load(self.output), strict=True)
        need(found is None, f"PyTorch's checkpoint read by dcpctl: {found}")


def reason_of(error):
    """One line of an exception: the last, PyTorch wraps the cause in many."""
    return (str(error).strip() or repr(error)).splitlines()[-1][:160]


class RoundtripTest:
    def __init__(self, arguments):
        self.dcpctl = arguments.dcpctl
        self.seeds = range(arguments.seed, arguments.seed + arguments.count)
        self.report = harness.Report()
        self.counts = collections.Counter()

    def run(self):
        for seed in self.seeds:
            with tempfile.TemporaryDirectory(dir=harness.scratch()) as work:
                self.run_case(seed, pathlib.Path(work))
        self.print_counts()
        print(f"seeds {self.seeds.start} to {self.seeds.stop - 1}: "
              f"{len(self.seeds)} state dicts")
        return self.report.finish()

    def print_counts(self):
        """What was in the state dicts, and how PyTorch fared."""
        groups = collections.defaultdict(list)
        for kind, count in self.counts.most_common():
            group, _, name = kind.partition(" ")
            groups[group].append(f"{name} {count}")
        for group, counts in sorted(groups.items()):
            print(f"{group}: {', '.join(counts)}")

    def run_case(self, seed, work):
        case = Case(seed, self.dcpctl, work)
        try:
            case.run(sampled=seed % SAMPLE == 0)
            why = None
        except Wrong as e:
            why = str(e)
        except Exception as e:
            why = f"{type(e).__name__}: {reason_of(e)}"
        self.counts += case.counts
        if why:
            why += f" (again: --seed {seed} --count 1{self.keep(case)})"
        self.report.check(f"seed {seed}", why is None, why)

    @staticmethod
    def keep(case):
        if not case.input.is_file():
            return ""
        folder = pathlib.Path(tempfile.mkdtemp(prefix="roundtrip-"))
        shutil.copy(case.input, folder)
        return f"; the input is {folder / case.input.name}"


def main():
    sys.setrecursionlimit(RECURSION)
    arguments = harness.parse_arguments(
        __doc__.splitlines()[0],
        seed={"type": int, "default": 1, "help": "of the first case; the "
              "others have those that follow"},
        count={"type": int, "default": 500, "help": "number of cases"})
    print(f"--seed {arguments.seed} --count {arguments.count}, "
          f"PyTorch {torch.__version__}", flush=True)
    passed, failed = deep_compare.self_test(quiet=True)
    test = RoundtripTest(arguments)
    test.report.check(f"deep_compare passes {passed} checks of its own",
                      not failed, f"{failed} wrong; run deep_compare.py")
    return test.run()


if __name__ == "__main__":
    sys.exit(main())

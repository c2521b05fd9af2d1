"""--dtype casts as Tensor.to does, to the last bit.

Every floating-point type is cast to every other that the LibTorch of the
plug-in has: all patterns of the types of one and two bytes, and of the wider
ones special values, the neighbourhoods of ties and random patterns. A NaN
stays a NaN; which one it becomes depends, in PyTorch itself, on its place
among its neighbours, and so it is compared only with what PyTorch makes of it
in the middle of a long tensor. What is no floating-point tensor stays as it
is. DCPCTL_PLUGIN_DIR names the plug-in to be tested, where it is not the one
beside the program.
"""
import itertools
import pathlib
import sys
import tempfile

import torch

import harness

# Those that this PyTorch has: float8_e8m0fnu came with 2.7.
TYPES = [getattr(torch, name) for name in (
    "float64", "float32", "float16", "bfloat16", "float8_e4m3fn",
    "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e8m0fnu")
    if hasattr(torch, name)]
BITS = {8: torch.int64, 4: torch.int32, 2: torch.int16, 1: torch.uint8}
VECTOR = 64  # the plug-in's runs are multiples of it


def name_of(dtype):
    return str(dtype).removeprefix("torch.")


def bits(tensor):
    return tensor.contiguous().view(BITS[tensor.dtype.itemsize])


def same_values(found, expected):
    """Equal bits, and NaN where NaN is."""
    nan = expected.to(torch.float64).isnan()
    if not torch.equal(nan, found.to(torch.float64).isnan()):
        return False
    return torch.equal(bits(found)[~nan], bits(expected)[~nan])


def neighbours(values, dtype):
    """Of each value the patterns just below and above it as well."""
    center = bits(torch.tensor(values, dtype=torch.float64).to(dtype))
    return torch.cat([center + d for d in range(-2, 3)]).view(dtype)


def wide_values(dtype, count, generator):
    """Values of float32 or float64 that rounding may get wrong."""
    integer = BITS[dtype.itemsize]
    limits = torch.iinfo(integer)
    random = torch.randint(limits.min, limits.max, (count,), dtype=integer,
                           generator=generator).view(dtype)
    # Random patterns are mostly out of the range of small types.
    near = (torch.randn(count, dtype=torch.float64, generator=generator)
            * 2.0 ** torch.randint(-20, 18, (count,), generator=generator))
    # Values of the small types and the ties between them.
    small = torch.arange(-2 ** 15, 2 ** 15, dtype=torch.int16)
    exact = torch.cat([small.view(t).to(torch.float64)
                       for t in (torch.float16, torch.bfloat16)])
    ties = (exact[:-1] + exact[1:]) / 2
    special = [0.0, -0.0, float("inf"), -float("inf"), float("nan"),
               torch.finfo(dtype).tiny, torch.finfo(dtype).max,
               -torch.finfo(dtype).max, torch.finfo(dtype).smallest_normal,
               65504.0, 65520.0, 65519.99, 448.0, 464.0, 480.0, 57344.0,
               61440.0, 240.0, 2.0 ** -24, 2.0 ** -25, 2.0 ** -133,
               2.0 ** -134, 3.3895313892515355e38, 2.0 ** -149, 1e-45]
    finite = torch.cat([exact, ties])
    finite = finite[finite.isfinite()]
    near_ties = bits(finite.to(dtype))
    return torch.cat([neighbours(special, dtype), random, near.to(dtype),
                      finite.to(dtype), (near_ties + 1).view(dtype),
                      (near_ties - 1).view(dtype)])


def all_values(dtype, count, generator):
    if dtype.itemsize == 2:
        values = torch.arange(-2 ** 15, 2 ** 15, dtype=torch.int16).view(dtype)
        return values.repeat(2)
    if dtype.itemsize == 1:
        return torch.arange(256, dtype=torch.int16).to(torch.uint8).repeat(
            9).view(dtype)
    return wide_values(dtype, count, generator)


class DtypeTest:
    def __init__(self, arguments, work):
        self.dcpctl = arguments.dcpctl
        self.count = arguments.count
        self.only = arguments.only
        self.work = work
        self.report = harness.Report()

    def run(self):
        generator = torch.Generator().manual_seed(20)
        source = {name_of(t): all_values(t, self.count, generator)
                  for t in TYPES}
        source = {key: value[:value.numel() // VECTOR * VECTOR]
                  for key, value in source.items()}
        source["transposed"] = torch.randn(300, 200).t()
        source["scalar"] = torch.tensor(1 / 3)
        source["parameter"] = torch.nn.Parameter(torch.randn(7, 5))
        source["empty"] = torch.empty(0, 3)
        others = {"int": torch.arange(9), "bool": torch.tensor([True]),
                  "complex": torch.randn(3, dtype=torch.complex64)}
        path = self.work / "source.pt"
        torch.save({**source, **others}, path)
        for dtype in TYPES:
            if self.only and self.only != name_of(dtype):
                continue
            self.run_type(path, source, others, dtype)
        return self.report.finish()

    def run_type(self, path, source, others, dtype):
        target = self.work / "out.pt"
        to = name_of(dtype)
        arguments = ["--to", "torch", "--dtype", to, "--force"]
        done = harness.run(self.dcpctl, "convert", path, target, *arguments)
        if done.status == 3 and b" does not cast " in done.err:
            # A LibTorch that does not have float8 casts the rest.
            arguments += ["--exclude", "float8*"]
            done = harness.run(self.dcpctl, "convert", path, target,
                               *arguments)
            if done.status == 3 and b" does not cast " in done.err:
                return self.report.skip(to, done.err.decode().splitlines()[0])
        if not self.report.check(f"to {to}", done.status == 0,
                                 done.summary()):
            return None
        found = torch.load(target, weights_only=True)
        for key, tensor in source.items():
            if key not in found:
                self.report.skip(f"{key} to {to}", "not in this LibTorch")
                continue
            self.compare(f"{key} to {to}", found[key].detach(),
                         tensor.detach().to(dtype))
        for key, tensor in others.items():
            self.report.check(f"{key} is left alone with {to}",
                              found[key].dtype == tensor.dtype
                              and torch.equal(found[key], tensor))
        target.unlink()
        return None

    def compare(self, name, found, expected):
        ok = (found.dtype == expected.dtype and found.shape == expected.shape
              and same_values(found, expected))
        detail = ""
        if not ok and found.shape == expected.shape:
            other = (bits(found) != bits(expected)).flatten().nonzero()
            at = other[0].item() if len(other) else 0
            detail = (f"{len(other)} of {found.numel()} differ, first at {at}:"
                      f" {found.flatten()[at]} for"
                      f" {expected.flatten()[at]}")
        self.report.check(name, ok, detail)


def main():
    arguments = harness.parse_arguments(
        __doc__.partition("\n")[0],
        count={"type": int, "default": 1_000_000, "metavar": "N",
               "help": "random values of each of the wide types"})
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory(dir=harness.scratch()) as work:
        return DtypeTest(arguments, pathlib.Path(work)).run()


if __name__ == "__main__":
    sys.exit(main())

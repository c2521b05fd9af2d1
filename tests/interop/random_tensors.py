"""Seeded random tensors of every kind that torch.save takes.

Elements are random bits, so that NaN payloads, denormals and -0.0 occur.
"""
import warnings

import numpy as np
import torch

import made_module

warnings.filterwarnings("ignore")

DTYPES = [torch.float32, torch.float64, torch.float16, torch.bfloat16,
          torch.int8, torch.int16, torch.int32, torch.int64, torch.uint8,
          torch.uint16, torch.uint32, torch.uint64, torch.bool,
          torch.complex32, torch.complex64, torch.complex128,
          torch.float8_e4m3fn, torch.float8_e5m2, torch.float8_e4m3fnuz,
          torch.float8_e5m2fnuz, torch.float8_e8m0fnu,
          torch.float4_e2m1fn_x2]
FLOATS = [torch.float32, torch.float64, torch.float16, torch.bfloat16]
COMPLEX = [torch.complex64, torch.complex128]
SHAPES = [(), (1,), (3,), (7, 2), (2, 3, 4), (1, 1, 1, 1), (4, 1, 3), (65,)]
EMPTY_SHAPES = [(0,), (0, 3), (3, 0, 2), (0, 0)]


class RandomTensors:
    """Makes tensors; kinds() names the methods that do."""

    def __init__(self, rng, count):
        self.rng = rng
        self.count = count  # called with the kind of each
        self.pool = []  # bases that later views may share

    def make(self):
        kind = self.rng.choice(KINDS)
        self.count("tensor " + kind.__name__)
        return kind(self)

    def bits(self, shape, dtype):
        count = int(np.prod(shape, dtype=np.int64))
        if dtype == torch.bool:
            data = [self.rng.random() < 0.5 for _ in range(count)]
            return torch.tensor(data, dtype=dtype).reshape(shape)
        if count == 0:
            return torch.empty(shape, dtype=dtype)
        data = bytearray(self.rng.randbytes(count * dtype.itemsize))
        # A copy: a storage that torch itself made.
        return (torch.frombuffer(data, dtype=torch.uint8).clone()
                .view(dtype).reshape(shape))

    def base(self, shape=None, dtypes=None):
        dtype = self.rng.choice(dtypes or DTYPES)
        tensor = self.bits(shape or self.rng.choice(SHAPES), dtype)
        self.count(f"dtype {str(dtype).removeprefix('torch.')}")
        self.pool.append(tensor)
        return tensor

    # Kinds that stay tensors in DCP.

    def plain(self):
        return self.base()

    def empty(self):
        return self.bits(self.rng.choice(EMPTY_SHAPES),
                         self.rng.choice(DTYPES))

    def transposed(self):
        return self.base((3, 5)).t()

    def stepped(self):
        return self.base((9, 4))[1::2, ::3]

    def offset_view(self):
        first = self.rng.randrange(5)
        return self.base((11,))[first:first + self.rng.randrange(6)]

    def expanded(self):
        return self.base((1, 3)).expand(4, 3)

    def overlapping(self):
        return self.base((10,)).as_strided((4, 3), (2, 1), 1)

    def channels_last(self):
        return self.base((2, 3, 4, 5)).to(memory_format=torch.channels_last)

    def many_dimensions(self):
        shape = [1] * self.rng.randrange(9, 30)
        shape[self.rng.randrange(len(shape))] = 3
        return self.base(tuple(shape))

    def shared(self):
        """The same tensor again, or a view of an earlier one."""
        if not self.pool:
            return self.base()
        base = self.rng.choice(self.pool)
        if base.ndim == 0 or self.rng.random() < 0.4:
            return base
        return base[self.rng.randrange(base.shape[0]):]

    def other_dtype_of_storage(self):
        """Both are in the file where torch.save can: in untyped storages."""
        if self.rng.random() < 0.5:
            tensor = self.base((4,), [torch.uint16, torch.uint32])
            return tensor.view(torch.float8_e8m0fnu)
        tensor = self.bits((4,), self.rng.choice(FLOATS))
        return tensor.view(torch.uint8)[self.rng.randrange(4):]

    def parameter(self):
        floating = self.rng.random() < 0.8
        return torch.nn.Parameter(
            self.base(dtypes=FLOATS + COMPLEX if floating else None),
            requires_grad=floating and self.rng.random() < 0.7)

    def strided_parameter(self):
        return torch.nn.Parameter(self.base((2, 6), FLOATS).t())

    def buffer(self):
        return torch.nn.Buffer(self.base())

    def with_gradient(self):
        return self.base(dtypes=FLOATS + COMPLEX).requires_grad_()

    def not_a_leaf(self):
        return self.base(dtypes=FLOATS).requires_grad_()[...]

    def with_attribute(self):
        tensor = self.base().clone()
        tensor.note = {"by": "hand"}
        return tensor

    def generator_state(self):
        generator = torch.Generator()
        generator.manual_seed(self.rng.getrandbits(60))
        return generator.get_state()

    # Kinds that DCP has no form for, and that become objects.

    def conjugated(self):
        return self.base(dtypes=COMPLEX).conj()

    def negated(self):
        # Not one of the pool: torch.save refuses a storage of two types.
        return self.bits((3,), self.rng.choice(COMPLEX)).conj().imag

    def sparse_coo(self):
        tensor = self.base((3, 4), FLOATS + [torch.int64])
        return tensor.masked_fill(tensor < 0, 0).to_sparse()

    def sparse_uncoalesced(self):
        return torch.sparse_coo_tensor([[0, 0, 2]], self.bits(
            (3, 2), self.rng.choice(FLOATS)), (4, 2))

    def sparse_hybrid_empty(self):
        return torch.sparse_coo_tensor(size=(3, 0, 2))

    def sparse_compressed(self):
        tensor = torch.eye(4) * self.rng.uniform(-9, 9)
        return self.rng.choice([
            tensor.to_sparse_csr, tensor.to_sparse_csc,
            lambda: tensor.to_sparse_bsr((2, 2)),
            lambda: tensor.to_sparse_bsc((2, 2))])()

    def quantized(self):
        dtype = self.rng.choice([torch.quint8, torch.qint8, torch.qint32])
        return torch.quantize_per_tensor(
            torch.tensor([self.rng.uniform(-3, 3) for _ in range(6)]),
            0.1, self.rng.randrange(9), dtype)

    def quantized_per_channel(self):
        return torch.quantize_per_channel(
            torch.tensor([[self.rng.uniform(-3, 3)] * 3] * 2),
            torch.tensor([0.1, 0.25]), torch.tensor([0, 3]), 0, torch.qint8)

    def nested(self):
        return torch.nested.nested_tensor([torch.ones(2, 3),
                                           torch.zeros(4, 3)])

    def meta(self):
        return torch.empty(self.rng.choice(SHAPES), device="meta",
                           dtype=self.rng.choice(FLOATS))

    def subclass(self):
        return self.base().as_subclass(made_module.MadeTensor)


STAY_TENSORS = [
    RandomTensors.plain, RandomTensors.empty, RandomTensors.transposed,
    RandomTensors.stepped, RandomTensors.offset_view, RandomTensors.expanded,
    RandomTensors.overlapping, RandomTensors.channels_last,
    RandomTensors.many_dimensions, RandomTensors.shared,
    RandomTensors.other_dtype_of_storage, RandomTensors.parameter,
    RandomTensors.strided_parameter, RandomTensors.buffer,
    RandomTensors.with_gradient, RandomTensors.not_a_leaf,
    RandomTensors.with_attribute, RandomTensors.generator_state]
BECOME_OBJECTS = [
    RandomTensors.conjugated, RandomTensors.negated, RandomTensors.sparse_coo,
    RandomTensors.sparse_uncoalesced, RandomTensors.sparse_hybrid_empty,
    RandomTensors.sparse_compressed, RandomTensors.quantized,
    RandomTensors.quantized_per_channel, RandomTensors.nested,
    RandomTensors.meta, RandomTensors.subclass]
# Mostly what checkpoints consist of.
KINDS = (STAY_TENSORS * 4 + [RandomTensors.plain, RandomTensors.shared,
                             RandomTensors.parameter] * 8 + BECOME_OBJECTS)

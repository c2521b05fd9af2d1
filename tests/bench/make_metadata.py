"""Writes the `.metadata` of a large checkpoint with PyTorch's own classes.

usage: make_metadata.py DIRECTORY [CHUNKS]
1,000 tensors or more, each in row shards on up to 256 ranks. The data files
have their size and no contents.
"""
import os
import pickle
import sys

import torch
from torch.distributed.checkpoint.filesystem import _StorageInfo
from torch.distributed.checkpoint.metadata import (
    ChunkStorageMetadata, Metadata, MetadataIndex, StorageMeta,
    TensorProperties, TensorStorageMetadata)

RANKS = 256
ROWS, COLUMNS = 4, 1024     # of a chunk
RECORD = ROWS * COLUMNS * 2 + 1200  # a bfloat16 archive


def main():
    directory = sys.argv[1]
    chunks = int(sys.argv[2]) if len(sys.argv) > 2 else 300_000
    os.makedirs(directory, exist_ok=True)
    state, storage, names, ends = {}, {}, {}, [0] * RANKS
    for first in range(0, chunks, RANKS):
        count = min(RANKS, chunks - first)
        name = f"model.layers.{first // RANKS}.mlp.down_proj.weight"
        boxes = []
        for rank in range(count):
            offsets = torch.Size([rank * ROWS, 0])
            boxes.append(ChunkStorageMetadata(
                offsets=offsets, sizes=torch.Size([ROWS, COLUMNS])))
            storage[MetadataIndex(name, offsets, rank)] = _StorageInfo(
                f"__{rank}_0.distcp", ends[rank], RECORD)
            ends[rank] += RECORD
        state[name] = TensorStorageMetadata(
            TensorProperties(dtype=torch.bfloat16),
            torch.Size([count * ROWS, COLUMNS]), boxes)
        names[name] = tuple(name.split(".", 1))
    metadata = Metadata(state, names, storage, StorageMeta())
    with open(os.path.join(directory, ".metadata"), "wb") as file:
        pickle.dump(metadata, file)
    for rank, end in enumerate(ends):
        with open(os.path.join(directory, f"__{rank}_0.distcp"), "wb") as file:
            file.truncate(end)


if __name__ == "__main__":
    main()

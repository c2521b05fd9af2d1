// A catalog written by hand, piece by piece: what a survey would find, without files.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "dcpctl/catalog.h"

namespace dcpctl::test {

class CatalogBuilder {
 public:
  CatalogBuilder() { catalog_.root = "/ckpt"; }

  uint32_t AddFile(std::string path, uint64_t bytes);
  // Chunks added next belong to it.
  uint32_t AddTensor(std::string_view key, DType dtype, const Dims& shape);
  // Surveyed, at `stored` of the file. No strides: row-major.
  Chunk& AddChunk(const Box& box, uint32_t file, const StoredTensor& stored, Dims strides = {});

  Catalog& catalog() { return catalog_; }

 private:
  Catalog catalog_;
};

// "x": float32 [6, 4] in two row shards, one in each file, whose chunks are listed back to front.
CatalogBuilder TwoRowShards();

}  // namespace dcpctl::test

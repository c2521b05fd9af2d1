#include "tests/plan/sample_catalog.h"

#include <utility>

namespace dcpctl::test {

uint32_t CatalogBuilder::AddFile(std::string path, uint64_t bytes) {
  catalog_.files.push_back({.path = std::move(path), .bytes = bytes, .referenced = true, .mtime_ns = 1000});
  return static_cast<uint32_t>(catalog_.files.size() - 1);
}

uint32_t CatalogBuilder::AddTensor(std::string_view key, DType dtype, const Dims& shape) {
  catalog_.AddTensor(key, dtype, shape).first_chunk = static_cast<uint32_t>(catalog_.chunks.size());
  return static_cast<uint32_t>(catalog_.tensors.size() - 1);
}

Chunk& CatalogBuilder::AddChunk(const Box& box, uint32_t file, const StoredTensor& stored, Dims strides) {
  if (strides.empty()) strides = RowMajorStrides(box.sizes);
  Chunk chunk{.dims = catalog_.dims.size(), .offset = 0, .length = 0, .file = file, .stored = stored, .surveyed = true};
  for (const Dims& part : {box.offsets, box.sizes, strides}) {
    catalog_.dims.insert(catalog_.dims.end(), part.begin(), part.end());
  }
  catalog_.chunks.push_back(chunk);
  ++catalog_.tensors.back().chunk_count;
  return catalog_.chunks.back();
}

CatalogBuilder TwoRowShards() {
  CatalogBuilder builder;
  const uint32_t first = builder.AddFile("__0_0.distcp", 1000);
  const uint32_t second = builder.AddFile("__1_0.distcp", 1000);
  builder.AddTensor("x", DType::kFloat32, {6, 4});
  builder.AddChunk({{2, 0}, {4, 4}}, second, {.offset = 64, .bytes = 64, .crc = 7, .crc_known = true});
  builder.AddChunk({{0, 0}, {2, 4}}, first, {.offset = 128, .bytes = 32});
  return builder;
}

}  // namespace dcpctl::test

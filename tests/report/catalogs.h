// A small checkpoint as the report tests see it: two tensors, one of them in two chunks, and two objects.
#pragma once

#include <memory>
#include <string>

#include "dcpctl/inspect.h"

namespace dcpctl::report {

inline void AddChunk(Catalog& catalog, const Dims& offsets, const Dims& sizes, uint32_t file, uint64_t offset,
                     uint32_t transforms = 0) {
  Chunk chunk;
  chunk.dims = catalog.dims.size();
  chunk.file = file;
  chunk.offset = offset;
  chunk.length = 1000;
  chunk.transforms = transforms;
  catalog.dims.insert(catalog.dims.end(), offsets.begin(), offsets.end());
  catalog.dims.insert(catalog.dims.end(), sizes.begin(), sizes.end());
  catalog.dims.insert(catalog.dims.end(), sizes.size(), 0);  // strides: not surveyed
  catalog.chunks.push_back(chunk);
}

inline void AddTensor(Catalog& catalog, KeyPath path, DType dtype, const Dims& shape, uint32_t chunks) {
  const std::string key = JoinPath(path);
  Tensor& tensor = catalog.AddTensor(key, dtype, shape);
  tensor.path = catalog.AddPath(key, std::move(path));
  tensor.first_chunk = static_cast<uint32_t>(catalog.chunks.size()) - chunks;
  tensor.chunk_count = chunks;
}

inline Object& AddObject(Catalog& catalog, KeyPath path) {
  const std::string key = JoinPath(path);
  Object& object = catalog.AddObject(key);
  object.path = catalog.AddPath(key, std::move(path));
  object.file = 0;
  object.length = 431;
  return object;
}

inline SourceFile File(std::string path, uint64_t bytes, uint64_t entries, bool referenced = true) {
  SourceFile file;
  file.path = std::move(path);
  file.bytes = bytes;
  file.entries = entries;
  file.referenced = referenced;
  return file;
}

inline InspectReport SmallReport() {
  InspectReport report;
  Catalog& catalog = report.catalog;
  catalog.root = "ckpt";
  catalog.details = {{"version", "1.0.0"}, {"save_id", "5c"}};
  catalog.files = {File("__0_0.distcp", 2862, 3), File("__1_0.distcp", 1000, 1), File("__1_1.distcp", 0, 0),
                   File("__4_0.distcp", 7, 0, false), File(".metadata", 1455, 0)};
  for (const size_t i : {size_t{0}, size_t{1}, size_t{2}, size_t{3}}) {
    catalog.files[i].rank = i == 0 ? 0 : i == 3 ? 4 : 1;
    catalog.files[i].bucket = i == 2 ? 1 : 0;
  }
  AddChunk(catalog, {0, 0}, {3, 3}, 0, 862);
  AddChunk(catalog, {3, 0}, {2, 3}, 1, 0);
  AddTensor(catalog, {"model", "net.weight"}, DType::kFloat32, {5, 3}, 2);
  AddChunk(catalog, {}, {}, 0, 1862);
  AddTensor(catalog, {"optim", "steps", uint64_t{0}}, DType::kInt64, {}, 1);
  AddObject(catalog, {"epoch"});
  AddObject(catalog, {"odd\n\x1b[31mkey"});
  catalog.nested = true;
  report.totals = {
      .tensors = 2, .objects = 2, .chunks = 3, .elements = 16, .bytes = 68, .files = 5, .file_bytes = 5324};
  return report;
}

inline void SetValue(Object& object, const std::function<pickle::Value(pickle::Document&)>& make) {
  auto value = std::make_shared<ObjectValue>();
  value->document.SetRoot(make(value->document));
  object.value = std::move(value);
}

}  // namespace dcpctl::report

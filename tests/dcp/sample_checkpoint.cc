#include "dcp/sample_checkpoint.h"

#include <zstd.h>

#include <cstring>

#include "torch/sample_archive.h"

namespace dcpctl::dcp {
namespace {

int64_t Product(const Ints& sizes) {
  int64_t product = 1;
  for (const int64_t size : sizes) product *= size;
  return product;
}

Ints RowMajor(const Ints& shape) {
  Ints strides(shape.size(), 1);
  for (size_t d = shape.size(); d-- > 1;) strides[d - 1] = strides[d] * std::max<int64_t>(shape[d], 1);
  return strides;
}

// The elements of a box of a tensor whose elements count from `first`.
std::string BoxBytes(const Ints& shape, const SamplePart& part, float first) {
  const Ints strides = RowMajor(shape);
  std::string bytes;
  for (int64_t i = 0; i < Product(part.sizes); ++i) {
    int64_t rest = i;
    int64_t element = 0;
    for (size_t d = shape.size(); d-- > 0; rest /= part.sizes[d])
      element += (part.offsets[d] + rest % part.sizes[d]) * strides[d];
    bytes += Floats(1, first + static_cast<float>(element));
  }
  return bytes;
}

}  // namespace

std::string Floats(uint64_t count, float first) {
  std::string bytes(count * sizeof(float), '\0');
  for (uint64_t i = 0; i < count; ++i) {
    const float value = first + static_cast<float>(i);
    std::memcpy(bytes.data() + i * sizeof(float), &value, sizeof(float));
  }
  return bytes;
}

std::string CompressZstd(const std::string& bytes) {
  std::string packed(ZSTD_compressBound(bytes.size()), '\0');
  packed.resize(ZSTD_compress(packed.data(), packed.size(), bytes.data(), bytes.size(), 1));
  return packed;
}

std::string TensorRecord(const Ints& shape, const std::string& bytes, const std::string& storage_class) {
  pickle::Document document;
  const torch::SampleTensor sample{
      .storage_class = storage_class, .items = Product(shape), .shape = shape, .strides = RowMajor(shape)};
  return torch::SaveTorch(torch::MakeSample(document, sample), {bytes});
}

void SampleCheckpoint::AddTensor(const std::string& key, const KeyPath& path, const Ints& shape, float first,
                                 std::vector<SamplePart> parts) {
  if (parts.empty()) parts.push_back({.offsets = Ints(shape.size(), 0), .sizes = shape});
  std::vector<std::pair<Ints, Ints>> boxes;
  for (const SamplePart& part : parts) {
    boxes.emplace_back(part.offsets, part.sizes);
    const std::string record = TensorRecord(part.sizes, BoxBytes(shape, part, first));
    AddRecord(key, part.offsets, part, part.zstd ? CompressZstd(record) : record);
  }
  metadata_.AddTensor(key, "float32", shape, boxes);
  if (!path.empty()) metadata_.AddPath(key, path);
}

void SampleCheckpoint::AddObject(const std::string& key, const KeyPath& path,
                                 const std::function<pickle::Value(pickle::Document&)>& make,
                                 const std::vector<std::string>& storages, const std::string& file) {
  pickle::Document document;
  metadata_.AddObject(key);
  AddRecord(key, std::nullopt, {.offsets = {}, .sizes = {}, .file = file}, torch::SaveTorch(make(document), storages));
  if (!path.empty()) metadata_.AddPath(key, path);
}

void SampleCheckpoint::AddInt(const std::string& key, const KeyPath& path, int64_t value) {
  AddObject(key, path, [value](pickle::Document& document) { return document.Int(value); });
}

void SampleCheckpoint::AddRaw(const std::string& key, const std::string& dtype, const Ints& shape,
                              const std::string& record, std::vector<std::string> transforms) {
  const Ints zeros(shape.size(), 0);
  metadata_.AddTensor(key, dtype, shape, {{zeros, shape}});
  AddRecord(key, zeros, {.offsets = zeros, .sizes = shape, .transforms = std::move(transforms)}, record);
}

void SampleCheckpoint::AddRecord(const std::string& key, const std::optional<Ints>& offsets, const SamplePart& part,
                                 const std::string& bytes) {
  std::string& file = files_[part.file];
  SampleRecord record{.key = key,
                      .offsets = offsets,
                      .path = part.file,
                      .offset = static_cast<int64_t>(file.size()),
                      .length = static_cast<int64_t>(bytes.size()),
                      .transforms = part.transforms};
  if (part.zstd) record.transforms = {"stream.zstd/1"};
  metadata_.AddRecord(record);
  file += bytes;
}

std::map<std::string, std::string> SampleCheckpoint::Finish(const std::string& metadata_name) {
  files_[metadata_name] = metadata_.Pickle();
  return files_;
}

void SampleCheckpoint::PutOn(test::MemoryFileSystem& files, const std::string& root, const std::string& metadata_name) {
  for (const auto& [name, bytes] : Finish(metadata_name)) files.Put(std::filesystem::path(root) / name, bytes);
}

void SampleCheckpoint::PutIn(const test::TempDirectory& folder, const std::string& root) {
  for (const auto& [name, bytes] : Finish()) folder.Put((std::filesystem::path(root) / name).string(), bytes);
}

}  // namespace dcpctl::dcp

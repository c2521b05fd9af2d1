// Makes whole DCP checkpoints for tests: tensors of counted elements in any chunks and files, and objects.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "dcp/sample_metadata.h"
#include "dcpctl/catalog.h"
#include "dcpctl/pickle.h"
#include "support/memory_file_system.h"
#include "support/temp_directory.h"

namespace dcpctl::dcp {

struct SamplePart {
  Ints offsets;
  Ints sizes;
  std::string file = "__0_0.distcp";
  bool zstd = false;
  std::vector<std::string> transforms = {};  // only the names: the bytes stay as they are
};

class SampleCheckpoint {
 public:
  explicit SampleCheckpoint(SampleStyle style = {}) : metadata_(std::move(style)) {}

  // float32; element i in row-major order is first + i. Without parts it is one chunk in `__0_0.distcp`.
  void AddTensor(const std::string& key, const KeyPath& path, const Ints& shape, float first = 0,
                 std::vector<SamplePart> parts = {});
  // `make` builds the value; storage i of it has the bytes storages[i].
  void AddObject(const std::string& key, const KeyPath& path,
                 const std::function<pickle::Value(pickle::Document&)>& make,
                 const std::vector<std::string>& storages = {}, const std::string& file = "__0_0.distcp");
  void AddInt(const std::string& key, const KeyPath& path, int64_t value);
  // A chunk of float32 whose record is `record`, whatever that is.
  void AddRaw(const std::string& key, const std::string& dtype, const Ints& shape, const std::string& record,
              std::vector<std::string> transforms = {});

  SampleMetadata& metadata() { return metadata_; }
  std::string& file(const std::string& name) { return files_[name]; }

  // File names and their bytes, `metadata_name` among them. Call once.
  std::map<std::string, std::string> Finish(const std::string& metadata_name = ".metadata");
  void PutOn(test::MemoryFileSystem& files, const std::string& root, const std::string& metadata_name = ".metadata");
  void PutIn(const test::TempDirectory& folder, const std::string& root);

 private:
  void AddRecord(const std::string& key, const std::optional<Ints>& offsets, const SamplePart& part,
                 const std::string& bytes);

  SampleMetadata metadata_;
  std::map<std::string, std::string> files_;
};

// `count` float32 elements: first, first + 1, ...
std::string Floats(uint64_t count, float first = 0);
std::string CompressZstd(const std::string& bytes);
// A record of one float32 tensor that fills its storage.
std::string TensorRecord(const Ints& shape, const std::string& bytes,
                         const std::string& storage_class = "FloatStorage");

}  // namespace dcpctl::dcp

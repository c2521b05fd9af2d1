// Makes `.metadata` pickles for tests, field by field, with any field wrong on request.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dcpctl/catalog.h"
#include "dcpctl/pickle.h"

namespace dcpctl::dcp {

using Ints = std::vector<int64_t>;

// "Class.attribute" -> what stands there instead; nothing leaves the attribute out.
using Overrides = std::map<std::string, std::function<std::optional<pickle::Value>(pickle::Document&)>>;

struct SampleStyle {
  bool old_modules = false;      // those of PyTorch 1.13 instead of 2.x
  bool six_properties = false;   // as PyTorch 2.15 has it
  bool index_has_offset = true;  // false: MetadataIndex of a tensor without one
  std::string dtype_module = "torch";
  Overrides overrides = {};
};

struct SampleRecord {
  std::string key;
  std::optional<Ints> offsets;  // nothing for objects
  std::string path = "__0_0.distcp";
  int64_t offset = 0;
  int64_t length = 0;
  // How _StorageInfo spells transforms: 3 attributes, 4 with None, or 4 with a list.
  enum class Spelling : uint8_t { kAbsent, kNone, kList } spelling = Spelling::kAbsent;
  std::vector<std::string> transforms = {};
};

class SampleMetadata {
 public:
  explicit SampleMetadata(SampleStyle style = {});

  void AddTensor(const std::string& key, const std::string& dtype, const Ints& shape,
                 const std::vector<std::pair<Ints, Ints>>& boxes, bool requires_grad = false);
  void AddObject(const std::string& key);
  void AddRecord(const SampleRecord& record);
  void AddPath(const std::string& key, const KeyPath& path);

  pickle::Document& document() { return document_; }
  // The instance of Metadata. Call once.
  pickle::Value Finish();
  // Finish() as a pickle.
  std::string Pickle(int protocol = 2);

  pickle::Value Size(const Ints& numbers);
  // An instance of a class of the metadata module, with overrides applied.
  pickle::Value Instance(const std::string& name, const std::vector<std::pair<std::string, pickle::Value>>& attributes);

 private:
  pickle::Value InstanceOf(const std::string& module, const std::string& name,
                           const std::vector<std::pair<std::string, pickle::Value>>& attributes);
  pickle::Value Properties(const std::string& dtype, bool requires_grad);

  SampleStyle style_;
  pickle::Document document_;
  pickle::Value entries_;
  pickle::Value paths_;
  pickle::Value records_;
};

}  // namespace dcpctl::dcp

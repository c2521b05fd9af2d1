// Makes files in torch.save's stream form for tests.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "dcpctl/pickle.h"

namespace dcpctl::torch {

struct SampleStorage {
  std::string key;
  uint64_t count = 0;  // as written in front of the data
  std::string data = {};
};

// The pickle of an int, a string, ..., made by `make` in a Document of its own.
template <typename Make>
std::string PickleOf(Make make) {
  pickle::Document document;
  return pickle::WritePickle(make(document)).value();
}

// What stands in the stream, each a pickle.
struct SampleStream {
  std::string magic = {};
  std::string version = {};
  std::string info = {};
  std::string state = {};
  std::string keys = {};
  std::vector<SampleStorage> storages = {};
};

SampleStream MakeStream(pickle::Value root, const std::vector<SampleStorage>& storages, bool little_endian = true);
std::string Join(const SampleStream& stream);
// A storage of these little-endian bytes.
std::string CountBytes(uint64_t count);

// ('storage', torch.CLASS, key, 'cpu', items, view): as `view` (key, first item, items) or None.
struct SampleView {
  std::string key;
  int64_t first = 0;
  int64_t items = 0;
};
pickle::Value MakeStorageId(pickle::Document& document, const std::string& storage_class, const std::string& key,
                            int64_t items, const std::optional<SampleView>& view = std::nullopt);

}  // namespace dcpctl::torch

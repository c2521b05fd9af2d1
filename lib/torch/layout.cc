#include "torch/layout.h"

#include <utility>
#include <vector>

namespace dcpctl::torch {

Result<zip::ArchiveLayout> MakeTorchLayout(std::string pickle, std::span<const NewStorage> storages) {
  const std::string prefix = "archive/";  // what torch.save calls an archive that is not a named file
  std::vector<zip::NewRecord> records;
  records.reserve(storages.size() + 3);
  records.push_back({.name = prefix + "data.pkl", .content = std::move(pickle)});
  records.push_back({.name = prefix + "byteorder", .content = "little"});
  for (size_t i = 0; i < storages.size(); ++i) {
    records.push_back({.name = prefix + "data/" + storages[i].key,
                       .content = zip::Slot{.id = i, .bytes = storages[i].bytes},
                       .alignment = storages[i].alignment});
  }
  records.push_back({.name = prefix + "version", .content = "3\n"});
  return zip::MakeArchiveLayout(std::move(records));
}

}  // namespace dcpctl::torch

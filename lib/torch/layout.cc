#include "torch/layout.h"

#include <utility>

#include "base/result.h"

namespace dcpctl::torch {

Result<zip::ArchiveLayout> MakeTorchLayout(std::string pickle, std::span<const NewStorage> storages) {
  const std::string prefix = "archive/";  // what torch.save calls an archive that is not a named file
  zip::LayoutBuilder builder;
  DCPCTL_TRY(builder.Add({.name = prefix + "data.pkl", .content = std::move(pickle)}));
  DCPCTL_TRY(builder.Add({.name = prefix + "byteorder", .content = "little"}));
  for (size_t i = 0; i < storages.size(); ++i) {
    DCPCTL_TRY(builder.Add({.name = prefix + "data/" + std::to_string(i),
                            .content = zip::Slot{.id = i, .bytes = storages[i].bytes},
                            .alignment = storages[i].alignment}));
  }
  DCPCTL_TRY(builder.Add({.name = prefix + "version", .content = "3\n"}));
  return std::move(builder).Finish();
}

}  // namespace dcpctl::torch

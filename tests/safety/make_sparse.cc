// Makes a checkpoint that looks huge and takes no room: a tensor a file, of zeros that are holes; and tensors without
// elements, as many as one likes.
// usage: sparse_checkpoint FOLDER FILES GIBIBYTES_EACH [EMPTY_TENSORS]
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>

#include "base/result.h"
#include "dcp/layout.h"
#include "dcpctl/pickle.h"
#include "torch/build.h"

namespace dcpctl {
namespace {

namespace fs = std::filesystem;

// Checksums stay 0, which means that there are none.
void WriteSparse(const fs::path& path, const zip::ArchiveLayout& layout, uint64_t start) {
  std::ofstream file(path, std::ios::binary);
  for (const zip::Literal& literal : layout.literals) {
    file.seekp(static_cast<std::streamoff>(start + literal.offset));
    file << literal.bytes;
  }
  file.close();
  fs::resize_file(path, start + layout.total_bytes);
}

Result<void> Make(const fs::path& folder, uint32_t count, uint64_t gibibytes, uint32_t empty) {
  const Box box{.offsets = {0, 0}, .sizes = {gibibytes << 18, 1024}};  // rows of 4 KiB
  pickle::Document document;
  dcp::NewItem item{.pickle = {}, .storage_bytes = {gibibytes << 30}, .is_tensor = true};
  DCPCTL_ASSIGN(item.pickle, pickle::WritePickle(torch::MakeTensor(document, DType::kFloat32, box.sizes, "0"),
                                                 {.protocol = 2, .limits = {}}));
  DCPCTL_ASSIGN(const dcp::ItemLayout layout, dcp::MakeItemLayout(item));
  const dcp::PlacedItem place{.offset = dcp::StartOf(layout, 0), .length = layout.archive.total_bytes};
  dcp::NewMetadata metadata;
  std::vector<KeyPath> paths;
  for (uint32_t i = 0; i < count + empty; ++i) paths.push_back({std::string("layers"), std::to_string(i)});
  const Dims no_sizes = {0};
  for (uint32_t i = 0; i < count; ++i) {
    metadata.files.push_back("__" + std::to_string(i) + "_0.distcp");
    WriteSparse(folder / metadata.files.back(), layout.archive, place.offset);
    const std::string key = "layers." + std::to_string(i);
    metadata.entries.push_back({.key = key,
                                .path = paths[i],
                                .is_tensor = true,
                                .shape = box.sizes,
                                .chunks = {{.box = box.view(), .file = i, .place = place}}});
  }
  for (uint32_t i = count; i < count + empty; ++i) {
    const std::string key = "layers." + std::to_string(i);
    metadata.entries.push_back({.key = key, .path = paths[i], .is_tensor = true, .shape = no_sizes, .chunks = {}});
  }
  DCPCTL_ASSIGN(const std::string bytes, dcp::WriteMetadata(metadata, dcp::DefaultCompat()));
  std::ofstream(folder / ".metadata", std::ios::binary) << bytes;
  return {};
}

}  // namespace
}  // namespace dcpctl

int main(int argc, char** argv) {
  if (argc != 4 && argc != 5) {
    std::cerr << "usage: " << argv[0] << " FOLDER FILES GIBIBYTES_EACH [EMPTY_TENSORS]\n";
    return 2;
  }
  std::filesystem::create_directories(argv[1]);
  const auto made =
      dcpctl::Make(argv[1], static_cast<uint32_t>(std::atoi(argv[2])), static_cast<uint64_t>(std::atoi(argv[3])),
                   argc == 5 ? static_cast<uint32_t>(std::atoi(argv[4])) : 0);
  if (made) return 0;
  std::cerr << made.error().ToString() << "\n";
  return 1;
}

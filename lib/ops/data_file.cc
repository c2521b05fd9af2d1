#include "ops/data_file.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "dcp/survey.h"
#include "ops/detect.h"

namespace dcpctl::ops {
namespace {

// Some storage writers put data files this many folders below the metadata.
constexpr int kMaxFolders = 4;

bool IsCheckpoint(io::FileSystem& files, const std::filesystem::path& folder) {
  const auto identity = Identify(files, folder);
  return identity && (identity->kind == SourceKind::kDcp || identity->kind == SourceKind::kDcpRankLocal);
}

// Chunks of other files go, and with them the entries that have none left.
void KeepOnly(Catalog& catalog, uint32_t file) {
  std::vector<Chunk> chunks;
  std::vector<EntryRef> entries;
  for (const EntryRef entry : catalog.entries) {
    if (!entry.is_tensor) {
      if (catalog.objects[entry.index].file == file) entries.push_back(entry);
      continue;
    }
    Tensor& tensor = catalog.tensors[entry.index];
    const auto first = static_cast<uint32_t>(chunks.size());
    for (const Chunk& chunk : catalog.ChunksOf(tensor)) {
      if (chunk.file == file) chunks.push_back(chunk);
    }
    tensor.first_chunk = first;
    tensor.chunk_count = static_cast<uint32_t>(chunks.size()) - first;
    if (tensor.chunk_count > 0) entries.push_back(entry);
  }
  catalog.chunks = std::move(chunks);
  catalog.entries = std::move(entries);
  catalog.state_order.clear();
}

}  // namespace

Result<std::optional<Catalog>> SurveyDataFile(io::FileSystem& files, const std::filesystem::path& file,
                                              const SurveyOptions& options) {
  DCPCTL_ASSIGN(const std::filesystem::path real, files.RealPath(file));
  std::filesystem::path folder = real.parent_path();
  for (int i = 0; i < kMaxFolders && folder.has_relative_path(); ++i, folder = folder.parent_path()) {
    if (!IsCheckpoint(files, folder)) continue;
    DCPCTL_ASSIGN(Catalog catalog, dcp::SurveyDirectory(files, folder, options));
    const std::string relative = real.lexically_relative(folder).string();
    const auto found = std::find_if(catalog.files.begin(), catalog.files.end(),
                                    [&](const SourceFile& f) { return f.path == relative; });
    if (found == catalog.files.end()) return std::optional<Catalog>();
    KeepOnly(catalog, static_cast<uint32_t>(found - catalog.files.begin()));
    std::erase_if(catalog.findings, [&](const Finding& finding) { return finding.file != relative; });
    catalog.details.emplace_back("data_file", relative);
    return std::optional(std::move(catalog));
  }
  return std::optional<Catalog>();
}

}  // namespace dcpctl::ops

#include "ops/to_dcp.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/quote.h"
#include "base/result.h"
#include "check/preflight.h"
#include "dcp/compat.h"
#include "ops/dcp_output.h"
#include "ops/select.h"
#include "ops/selected_source.h"
#include "ops/write.h"

namespace dcpctl::ops {
namespace {

std::string DataFileName(uint64_t rank) { return "__" + std::to_string(rank) + "_0.distcp"; }

// Every entry whole, in the one file of one rank: what PyTorch's own converter makes.
void PlaceWhole(const SelectedSource& source, DcpOutputOptions& output) {
  output.files = {DataFileName(0)};
  for (uint32_t e = 0; e < source.catalog.entries.size(); ++e) {
    if (!source.selected[e]) continue;
    DcpItem item{.entry = e, .file = 0, .box = {}};
    if (const EntryRef entry = source.catalog.entries[e]; entry.is_tensor) {
      item.box.sizes = source.catalog.tensors[entry.index].shape;
      item.box.offsets.assign(item.box.sizes.size(), 0);
    }
    output.items.push_back(std::move(item));
  }
}

// The chunks as they are, one file for each rank that has any. A rank is told from the name of its files;
// files without such a name count as one rank each.
class ChunkPlacer {
 public:
  ChunkPlacer(const SelectedSource& source, DcpOutputOptions& output)
      : catalog_(source.catalog), selected_(source.selected), output_(output) {}

  void Run() {
    NumberFiles();
    for (uint32_t e = 0; e < catalog_.entries.size(); ++e) {
      if (!selected_[e]) continue;
      const EntryRef entry = catalog_.entries[e];
      if (!entry.is_tensor) {
        output_.items.push_back({.entry = e, .file = file_of_[catalog_.objects[entry.index].file], .box = {}});
        continue;
      }
      const Tensor& tensor = catalog_.tensors[entry.index];
      for (const Chunk& chunk : catalog_.ChunksOf(tensor)) {
        const BoxView box = catalog_.BoxOf(tensor, chunk);
        output_.items.push_back({.entry = e,
                                 .file = file_of_[chunk.file],
                                 .box = {.offsets = Dims(box.offsets.begin(), box.offsets.end()),
                                         .sizes = Dims(box.sizes.begin(), box.sizes.end())}});
      }
    }
  }

 private:
  void NumberFiles() {
    std::map<uint64_t, uint32_t> of_rank;
    uint64_t next_rank = 0;
    for (const SourceFile& file : catalog_.files) {
      if (file.rank) next_rank = std::max(next_rank, *file.rank + 1);
    }
    file_of_.resize(catalog_.files.size());
    for (size_t f = 0; f < catalog_.files.size(); ++f) {
      if (catalog_.files[f].entries == 0) continue;
      const uint64_t rank = catalog_.files[f].rank ? *catalog_.files[f].rank : next_rank++;
      const auto [found, is_new] = of_rank.try_emplace(rank, static_cast<uint32_t>(output_.files.size()));
      if (is_new) output_.files.push_back(DataFileName(rank));
      file_of_[f] = found->second;
    }
  }

  const Catalog& catalog_;
  const std::vector<bool>& selected_;
  DcpOutputOptions& output_;
  std::vector<uint32_t> file_of_;  // by source file
};

Result<Plan> PlanOutput(const SelectedSource& source, const ConvertOptions& options, const dcp::Compat& compat) {
  const Catalog& catalog = source.catalog;
  DcpOutputOptions output{
      .paths = std::vector<KeyPath>(catalog.entries.size()), .files = {}, .items = {}, .compat = compat};
  // For flat keys too: PyTorch 2.3's converter fails without.
  output.nested = compat.flattening != Flattening::kNone;
  DCPCTL_ASSIGN(std::vector<KeyPath> paths, RenamePaths(catalog, source.selected, options.selection));
  size_t next = 0;
  for (size_t e = 0; e < catalog.entries.size(); ++e) {
    if (source.selected[e]) output.paths[e] = std::move(paths[next++]);
  }
  if (catalog.format == Format::kDcp) {
    ChunkPlacer(source, output).Run();
  } else {
    PlaceWhole(source, output);
  }
  DCPCTL_ASSIGN(Plan plan, PlanDcpOutput(catalog, output));
  DCPCTL_TRY(CheckPlan(plan));
  return plan;
}

// A checkpoint is a dict of entries; a torch.save file may hold anything.
Result<void> CheckHasKeys(const Catalog& catalog) {
  for (const EntryRef entry : catalog.entries) {
    if (!PathOfEntry(catalog, entry).empty()) continue;
    const auto root = std::find_if(catalog.details.begin(), catalog.details.end(),
                                   [](const auto& detail) { return detail.first == "root"; });
    const std::string type = root == catalog.details.end() ? "something else" : "of type " + root->second;
    return Fail(Error(ErrorKind::kUnsupported, Place{.file = catalog.root.string()},
                      "the top-level object is " + type + ", expected a dict")
                    .Advise("a DCP checkpoint has a key for everything in it; save {\"model\": ...} instead"));
  }
  return {};
}

}  // namespace

Result<ConvertReport> ToDcp(io::FileSystem& files, const std::filesystem::path& source,
                            const std::filesystem::path& target, const ConvertOptions& options) {
  DCPCTL_TRY(CheckRunOptions(options.run));
  DCPCTL_ASSIGN(const dcp::Compat compat,
                options.compat.empty() ? dcp::DefaultCompat() : dcp::CompatOf(options.compat));
  DCPCTL_TRY(check::CheckDirectoryTarget(files, source, target, options.run.force));
  const auto start = std::chrono::steady_clock::now();
  DCPCTL_ASSIGN(const SelectedSource opened, OpenSelected(files, source, options, compat.flattening));
  DCPCTL_TRY(CheckHasKeys(opened.catalog));
  DCPCTL_ASSIGN(const Plan plan, PlanOutput(opened, options, compat));
  ConvertReport report{.plan = Summarize(plan)};
  report.plan.findings = opened.catalog.findings;
  CountEntries(opened, report);
  if (!options.run.dry_run) DCPCTL_TRY(WriteAndRecord(WriteDirectory(files, plan, target, options.run), start, report));
  return report;
}

}  // namespace dcpctl::ops

#include "ops/inspect_unfinished.h"

#include <iterator>
#include <string>
#include <utility>

#include "base/checked.h"
#include "base/result.h"
#include "dcp/naming.h"
#include "ops/data_records.h"

namespace dcpctl::ops {
namespace {

class UnfinishedInspector {
 public:
  UnfinishedInspector(io::FileSystem& files, const std::filesystem::path& path, const Limits& limits)
      : files_(files), path_(path), limits_(limits) {
    report_.without_metadata = true;
    report_.catalog.root = path;
  }

  Result<InspectReport> Run(const Identity& identity) {
    report_.catalog.findings.push_back(
        {.id = "dcp.no-metadata",
         .severity = Severity::kWarning,
         .message = "there is no .metadata: names, and what parts belong to a tensor, are "
                    "not known",
         .advice = "`dcpctl repair " + path_.string() +
                   " --like OTHER` makes one anew from another step of the same run; " + identity.advice});
    DCPCTL_ASSIGN(const auto listing, files_.ListDirectory(path_, {.recursive = true}));
    for (const io::DirectoryEntry& entry : listing) {
      if (entry.type == io::FileType::kRegular && entry.name.ends_with(dcp::kDataSuffix)) DCPCTL_TRY(Add(entry.name));
    }
    return std::move(report_);
  }

 private:
  Result<void> Add(const std::string& name) {
    DCPCTL_ASSIGN(const auto opened, files_.OpenBeneath(path_, name));
    SourceFile file{.path = name, .bytes = opened->size(), .mtime_ns = opened->info().mtime_ns};
    if (const auto parts = dcp::ParseDataFileName(name)) {
      file.rank = parts->rank;
      file.bucket = parts->bucket;
    }
    const auto index = static_cast<uint32_t>(report_.catalog.files.size());
    DCPCTL_ASSIGN(DataRecords found, ReadDataRecords(*opened, index, limits_));
    file.entries = found.records.size();
    for (const FoundRecord& record : found.records) Count(record);
    if (found.other_bytes > 0) {
      report_.catalog.findings.push_back({.id = "dcp.not-an-archive",
                                          .severity = Severity::kWarning,
                                          .file = name,
                                          .message = std::to_string(found.other_bytes) +
                                                     " bytes belong to no whole archive: they were cut off, or are "
                                                     "compressed"});
    }
    report_.records.insert(report_.records.end(), std::make_move_iterator(found.records.begin()),
                           std::make_move_iterator(found.records.end()));
    ++report_.totals.files;
    report_.totals.file_bytes += file.bytes;
    report_.catalog.files.push_back(std::move(file));
    return {};
  }

  void Count(const FoundRecord& record) {
    if (!record.problem.empty()) return;
    InspectTotals& totals = report_.totals;
    ++(record.is_tensor ? totals.chunks : totals.objects);
    if (!record.is_tensor) return;
    const uint64_t elements = Numel(record.shape).value_or(UINT64_MAX);
    totals.elements = CheckedAdd(totals.elements, elements).value_or(UINT64_MAX);
    const auto bytes = CheckedMul(elements, ItemBytes(record.dtype));
    totals.bytes = CheckedAdd(totals.bytes, bytes.value_or(UINT64_MAX)).value_or(UINT64_MAX);
  }

  io::FileSystem& files_;
  const std::filesystem::path& path_;
  const Limits& limits_;
  InspectReport report_;
};

}  // namespace

Result<InspectReport> InspectUnfinished(io::FileSystem& files, const std::filesystem::path& path,
                                        const Identity& identity, const InspectOptions& options) {
  if (options.has_key || !options.selection.select.empty() || !options.selection.exclude.empty()) {
    return Fail(Error(ErrorKind::kUnsupported, {.file = path.string()},
                      "this is " + identity.description + ": there are no keys to choose from")
                    .Advise(identity.advice));
  }
  return UnfinishedInspector(files, path, options.run.limits).Run(identity);
}

}  // namespace dcpctl::ops

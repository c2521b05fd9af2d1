#include "check/leftovers.h"

#include <set>
#include <string>

#include "base/result.h"
#include "dcp/naming.h"

namespace dcpctl::check {
namespace {

// Of the rank-local metadata that was read.
std::set<uint64_t> RanksWithMetadata(const Catalog& catalog) {
  std::set<uint64_t> ranks;
  for (const SourceFile& file : catalog.files) {
    if (const auto rank = dcp::ParseRankMetadataName(file.path)) ranks.insert(*rank);
  }
  return ranks;
}

}  // namespace

Result<void> CheckLeftovers(io::FileSystem& files, const Catalog& catalog, Findings& findings) {
  const std::string unfinished(dcp::kUnfinishedMetadataName);
  const auto info = files.Stat(catalog.root / unfinished);
  if (info) {
    findings.push_back(
        {.id = "dcp.unfinished-metadata",
         .severity = Severity::kWarning,
         .file = unfinished,
         .message = "a later save into this directory has not finished, of which data files may be",
         .advice = "remove it if no save is running; --payload tells whether the data is still this one's"});
  } else if (info.error().kind() != ErrorKind::kNotFound) {
    return Fail(info.error());
  }
  const std::set<uint64_t> ranks = RanksWithMetadata(catalog);
  if (ranks.empty()) return {};
  for (const SourceFile& file : catalog.files) {
    if (file.referenced || file.bytes == 0 || !file.rank || ranks.contains(*file.rank)) continue;
    findings.push_back({.id = "dcp.rank-missing",
                        .severity = Severity::kWarning,
                        .file = file.path,
                        .message = "data of rank " + std::to_string(*file.rank) + " is there, and its metadata is not",
                        .advice = "the save has not finished, or a file was lost"});
  }
  return {};
}

}  // namespace dcpctl::check

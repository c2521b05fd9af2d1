#include "check/movement.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace dcpctl::check {
namespace {

// What has changed about a file; nothing when nothing has.
std::optional<std::string> ChangeOf(io::FileSystem& files, const Catalog& catalog, const SourceFile& file) {
  const auto now = files.Stat(file.path.empty() ? catalog.root : catalog.root / file.path);
  if (!now) {
    const bool gone = now.error().kind() == ErrorKind::kNotFound && !file.missing;
    return gone ? std::optional<std::string>("it is gone") : std::nullopt;
  }
  // A FIFO or a link that leads out is there, and was not opened for being that.
  if (file.missing && !files.OpenBeneath(catalog.root, file.path)) return std::nullopt;
  if (file.missing) return "it appeared";
  if (now->bytes != file.bytes)
    return "it had " + std::to_string(file.bytes) + " bytes and now has " + std::to_string(now->bytes);
  if (now->mtime_ns != file.mtime_ns) return "its modification time changed";
  return std::nullopt;
}

}  // namespace

Finding BeingWritten(Format format, const std::string& file, const std::string& how) {
  return {.id = format == Format::kDcp ? "dcp.being-written" : "torch.being-written",
          .severity = Severity::kError,
          .file = file,
          .message = "the file is being written: " + how + " while it was looked at",
          .advice = "verify again when the save has ended"};
}

void CheckMovement(io::FileSystem& files, const Catalog& catalog, Findings& findings) {
  std::map<std::string_view, std::string> changes;
  for (const SourceFile& file : catalog.files) {
    if (auto change = ChangeOf(files, catalog, file)) changes.emplace(file.path, *std::move(change));
  }
  if (changes.empty()) return;
  std::erase_if(findings, [&](const Finding& f) { return f.severity == Severity::kError && changes.contains(f.file); });
  for (const auto& [file, change] : changes)
    findings.push_back(BeingWritten(catalog.format, std::string(file), change));
}

}  // namespace dcpctl::check

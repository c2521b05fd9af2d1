// Any bytes as a zip archive: what the directory says lies within the archive, and records do not run into each other.
#include <algorithm>
#include <optional>

#include "base/inflate.h"
#include "dcpctl/error.h"
#include "fuzz/targets.h"
#include "zip/format.h"
#include "zip/read.h"
#include "zip/search.h"
#include "zip/span.h"

namespace dcpctl::fuzz {
namespace {

constexpr uint64_t kMostRecordBytes = 64 << 10;

void ReadEntries(const ByteSource& source, const zip::Directory& directory) {
  const uint64_t end = directory.base + directory.length;
  Require(directory.directory_offset + directory.directory_bytes <= directory.end_offset && directory.end_offset <= end,
          "the directory lies in the archive");
  Require(directory.by_name.size() == directory.entries.size(), "every record has a name");
  for (const zip::Entry& entry : directory.entries) {
    Require(directory.Find(entry.name) == &entry, "a record is found by its name", entry.name);
    Require(entry.boundary <= directory.directory_offset, "records end before the directory", entry.name);
    const auto payload = zip::FindPayload(source, entry);
    if (payload) Require(*payload + entry.compressed_bytes <= entry.boundary, "data ends before what follows");
    const auto span = zip::FindSpan(source, entry);
    if (span) {
      Require(payload && span->payload == *payload, "data is found where it is");
      Require(span->end <= entry.boundary, "a record ends before what follows");
    }
    const auto bytes = zip::ReadRecord(source, entry, kMostRecordBytes);
    if (bytes) Require(payload && bytes->size() == entry.bytes, "a record has the size that it should have");
  }
}

void Search(const ByteSource& source) {
  const auto check = [&](const Result<std::optional<zip::ArchiveRange>>& found) {
    if (!found || !*found) return;
    Require((*found)->begin < (*found)->end && (*found)->end <= source.size(), "an archive lies in the file");
    (void)zip::ReadDirectory(source, (*found)->begin, (*found)->end - (*found)->begin, SmallLimits()).has_value();
  };
  check(zip::FindLastArchive(source, 0, source.size()));
  check(zip::FindFirstArchive(source, 0, source.size()));
  check(zip::FindArchiveBeforeJunk(source));
}

}  // namespace

void FuzzZip(Bytes input) {
  const MemorySource source = SourceOf(input);
  for (const uint64_t base : {uint64_t{0}, std::min<uint64_t>(64, source.size())}) {
    const auto directory = zip::ReadDirectory(source, base, source.size() - base, SmallLimits());
    if (directory) ReadEntries(source, *directory);
  }
  Search(source);
  uint64_t seen = 0;
  const auto decoded = DecodeDeflate(source, 0, source.size(), kMostRecordBytes, [&](Bytes piece) -> Result<void> {
    seen += piece.size();
    return {};
  });
  Require(seen <= kMostRecordBytes && (!decoded || *decoded == seen), "no more is decoded than may be");
}

}  // namespace dcpctl::fuzz

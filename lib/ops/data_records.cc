#include "ops/data_records.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "base/result.h"
#include "torch/archive.h"
#include "torch/tensor.h"
#include "zip/search.h"

namespace dcpctl::ops {
namespace {

std::vector<zip::ArchiveRange> InOrder(std::vector<zip::ArchiveRange> ranges) {
  std::sort(ranges.begin(), ranges.end(), [](const auto& a, const auto& b) { return a.begin < b.begin; });
  return ranges;
}

// From the back as far as one archive follows the other, the rest from the front.
Result<std::vector<zip::ArchiveRange>> FindArchives(const ByteSource& file) {
  std::vector<zip::ArchiveRange> found;
  uint64_t end = file.size();
  while (end > 0) {
    DCPCTL_ASSIGN(const auto range, zip::FindLastArchive(file, 0, end));
    if (!range) break;
    found.push_back(*range);
    end = range->begin;
  }
  for (uint64_t begin = 0; begin < end;) {
    DCPCTL_ASSIGN(const auto range, zip::FindFirstArchive(file, begin, end));
    if (!range) break;
    found.push_back(*range);
    begin = range->end;
  }
  return InOrder(std::move(found));
}

// Bytes of [begin, end) up to the last that is not zero.
Result<uint64_t> OtherBytes(const ByteSource& file, uint64_t begin, uint64_t end) {
  DCPCTL_ASSIGN(const uint64_t last, zip::FindLastNonZero(file, begin, end));
  return last - begin;
}

Result<FoundRecord> Describe(const ByteSource& file, const zip::ArchiveRange& range, const Limits& limits) {
  FoundRecord record{.offset = range.begin, .length = range.end - range.begin};
  auto archive = torch::OpenArchive(file, range.begin, record.length, limits);
  if (!archive && archive.error().kind() == ErrorKind::kIo) return Fail(std::move(archive).error());
  if (!archive) {
    record.problem = archive.error().Text();
    return record;
  }
  const pickle::Value root = archive->document.root();
  if (torch::LooksLikeTensor(root)) {
    if (auto tensor = torch::ReadPlainTensor(root, file.name())) {
      record.is_tensor = true;
      record.dtype = tensor->dtype;
      record.shape = std::move(tensor->shape);
      return record;
    }
  }
  record.type = pickle::TypeName(root);
  return record;
}

}  // namespace

Result<DataRecords> ReadDataRecords(const ByteSource& file, uint32_t index, const Limits& limits) {
  DCPCTL_ASSIGN(const std::vector<zip::ArchiveRange> ranges, FindArchives(file));
  DataRecords found;
  uint64_t end = 0;
  for (const zip::ArchiveRange& range : ranges) {
    DCPCTL_ASSIGN(const uint64_t other, OtherBytes(file, end, range.begin));
    found.other_bytes += other;
    end = range.end;
    DCPCTL_ASSIGN(FoundRecord record, Describe(file, range, limits));
    record.file = index;
    found.records.push_back(std::move(record));
  }
  DCPCTL_ASSIGN(const uint64_t other, OtherBytes(file, end, file.size()));
  found.other_bytes += other;
  return found;
}

}  // namespace dcpctl::ops

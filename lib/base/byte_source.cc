#include "base/byte_source.h"

#include <cstring>

#include "base/checked.h"
#include "base/quote.h"
#include "base/result.h"

namespace dcpctl {
namespace {

Result<void> CheckRange(const ByteSource& source, uint64_t offset, uint64_t length) {
  if (InRange(offset, length, source.size())) return {};
  return Fail(Place{source.name(), offset}, ErrorKind::kCorrupt,
              "range of " + std::to_string(length) + " bytes ends past the end, expected at most " +
                  std::to_string(source.size()) + " bytes in all");
}

}  // namespace

Result<std::vector<std::byte>> ReadRange(const ByteSource& source, uint64_t offset, uint64_t length) {
  DCPCTL_TRY(CheckRange(source, offset, length));
  std::vector<std::byte> bytes(length);
  DCPCTL_TRY(source.ReadAt(offset, bytes));
  return bytes;
}

Result<void> MemorySource::ReadAt(uint64_t offset, std::span<std::byte> out) const {
  DCPCTL_TRY(CheckRange(*this, offset, out.size()));
  if (!out.empty()) std::memcpy(out.data(), bytes_.data() + offset, out.size());
  return {};
}

}  // namespace dcpctl

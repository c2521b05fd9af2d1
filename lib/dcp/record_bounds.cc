#include "dcp/record_bounds.h"

#include <string>

#include "base/checked.h"
#include "base/result.h"
#include "io/catalog_files.h"

namespace dcpctl::dcp {
namespace {

// Records may lie over each other, as those of tensors that are stored once may.
constexpr uint64_t kMostTimes = 64;
constexpr uint64_t kMostOfASmallFile = uint64_t{256} << 20;
// A compressed one may decode to a thousand times its length.
constexpr uint64_t kMostTimesCompressed = 4;
// Objects that decode to as much as one may, besides what their lengths allow. Zeros take half a second.
constexpr uint64_t kLargeObjects = 3;

uint64_t Times(uint64_t bytes, uint64_t times) { return CheckedMul(bytes, times).value_or(UINT64_MAX); }
uint64_t Plus(uint64_t a, uint64_t b) { return CheckedAdd(a, b).value_or(UINT64_MAX); }

}  // namespace

Result<void> RecordBounds::Add(uint32_t file, uint64_t length, bool is_compressed, bool is_object) {
  const uint64_t bytes = catalog_.files[file].bytes;
  DCPCTL_TRY(AddUp(lengths_[file], length, Plus(Times(bytes, kMostTimes), kMostOfASmallFile), file, ""));
  if (!is_compressed) return {};
  if (is_object) object_lengths_ = Plus(object_lengths_, length);
  return AddUp(compressed_lengths_[file], length, Times(bytes, kMostTimesCompressed), file, "compressed ");
}

Result<void> RecordBounds::AddUp(uint64_t& sum, uint64_t length, uint64_t most, uint32_t file,
                                 const char* which) const {
  sum = Plus(sum, length);
  if (sum <= most) return {};
  return Fail(Place{.file = PathOf(catalog_, file)}, ErrorKind::kLimit,
              std::string("the ") + which + "records of this file, which lie over each other, have more than " +
                  std::to_string(most) + " bytes, and it has " + std::to_string(catalog_.files[file].bytes));
}

uint64_t RecordBounds::MostDecoded() const {
  return Plus(Times(limits_.object_bytes, kLargeObjects), limits_.ObjectBytesFrom(object_lengths_));
}

Result<void> RecordBounds::CheckDecoded() const {
  if (!IsExceeded()) return {};
  return Fail(Place{.file = catalog_.root.string()}, ErrorKind::kLimit,
              "compressed objects decode to more than " + std::to_string(MostDecoded()) + " bytes all together");
}

}  // namespace dcpctl::dcp

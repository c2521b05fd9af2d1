#include "torch/legacy_storages.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/byte_cursor.h"
#include "base/checked.h"
#include "base/quote.h"
#include "base/result.h"
#include "dcpctl/dtype.h"
#include "pickle/persistent_ids.h"

namespace dcpctl::torch {
namespace {

bool SayTheSame(const StorageRef& a, const StorageRef& b) {
  return a.root_key == b.root_key && a.root_items == b.root_items && a.first_item == b.first_item &&
         a.items == b.items && ItemBytes(a.dtype) == ItemBytes(b.dtype);
}

bool IsView(const StorageRef& ref) {
  return ref.key != ref.root_key || ref.first_item != 0 || ref.items != ref.root_items;
}

// What a view is a view of.
StorageRef RootOf(const StorageRef& ref) {
  StorageRef root = ref;
  root.key = ref.root_key;
  root.items = ref.root_items;
  root.first_item = 0;
  return root;
}

std::string Describe(const StorageRef& ref) {
  return std::to_string(ref.items) + " items of " + std::to_string(ItemBytes(ref.dtype)) + " bytes from item " +
         std::to_string(ref.first_item) + " of storage " + Quote(ref.root_key) + " of " +
         std::to_string(ref.root_items);
}

// Big-endian machines turn elements of 2, 4 and 8 bytes around when they write them, so that the file has the
// same bytes as elsewhere. They do so for complex numbers as a whole, which swaps their parts or worse, and
// not for untyped bytes, of whose elements they know nothing.
bool HasDoubtfulOrder(const StorageRef& ref) { return ref.untyped || SwapUnit(ref.dtype) != ItemBytes(ref.dtype); }

}  // namespace

Result<LegacyStorages> LegacyStorages::Make(const ByteSource& source, const pickle::Document& document,
                                            const Options& options) {
  LegacyStorages storages(source);
  storages.little_endian_ = options.little_endian;
  for (const pickle::Value id : pickle::PersistentIds(document)) {
    DCPCTL_ASSIGN(const StorageRef ref, ReadPersistentId(id, source.name()));
    if (IsView(ref)) DCPCTL_TRY(storages.AddId(RootOf(ref)));
    DCPCTL_TRY(storages.AddId(ref));
  }
  DCPCTL_TRY(storages.LayOut(options));
  return storages;
}

Result<void> LegacyStorages::AddId(const StorageRef& ref) {
  const auto [known, is_new] = refs_.try_emplace(ref.key, ref);
  if (is_new || SayTheSame(known->second, ref)) return {};
  return Fail(Place{file()}, ErrorKind::kCorrupt,
              "storage " + Quote(ref.key) + " has " + Describe(ref) + ", expected " + Describe(known->second) +
                  " as another mention of it says");
}

Result<void> LegacyStorages::LayOut(const Options& options) {
  begin_ = options.offset;
  end_ = options.offset;
  for (const std::string& key : options.keys) {
    const Place place{file(), end_};
    const auto found = refs_.find(key);
    if (found == refs_.end() || found->second.root_key != key) {
      return Fail(
          place, ErrorKind::kCorrupt,
          "storage " + Quote(key) + " is in the list of storages, expected only those that the state refers to");
    }
    if (!offsets_.try_emplace(key, end_).second) {
      return Fail(place, ErrorKind::kCorrupt, "storage " + Quote(key) + " is in the list of storages twice");
    }
    const auto bytes = CheckedMul(found->second.items, ItemBytes(found->second.dtype));
    const auto begin = CheckedAdd(end_, kCountBytes);
    const auto end = bytes && begin ? CheckedAdd(*begin, *bytes) : std::nullopt;
    if (!end) {
      return Fail(place, ErrorKind::kCorrupt,
                  "storage " + Quote(key) + " has " + std::to_string(found->second.items) +
                      " items, expected a size that fits 64 bits");
    }
    end_ = *end;
  }
  return {};
}

Result<void> LegacyStorages::CheckCount(const StorageRef& root, uint64_t offset) const {
  DCPCTL_ASSIGN(const auto bytes, ReadRange(*source_, offset, kCountBytes));
  ByteCursor cursor(file(), bytes, offset);
  const uint64_t count = cursor.U64("number of items");
  // Old versions write it in the order of the machine.
  if (count == root.items || (!little_endian_ && __builtin_bswap64(count) == root.items)) return {};
  return Fail(Place{file(), offset}, ErrorKind::kCorrupt,
              "storage " + Quote(root.key) + " begins with " + std::to_string(count) +
                  " as its number of items, expected " + std::to_string(root.items) + " as the pickle says");
}

Result<StoredTensor> LegacyStorages::Find(std::string_view key) const {
  const auto found = refs_.find(std::string(key));
  const auto offset = found == refs_.end() ? offsets_.end() : offsets_.find(found->second.root_key);
  if (offset == offsets_.end()) {
    return Fail(Place{file(), begin_}, ErrorKind::kCorrupt,
                "storage " + Quote(key) + " is missing in the list of storages, expected all that the state refers to");
  }
  const StorageRef& ref = found->second;
  const Place place{file(), offset->second};
  if (!little_endian_ && HasDoubtfulOrder(ref)) {
    return Fail(place, ErrorKind::kUnsupported,
                "storage " + Quote(key) + " has " + (ref.untyped ? "untyped" : std::string(Name(ref.dtype))) +
                    " items of a big-endian machine, expected items whose byte order is certain");
  }
  // LayOut checked that the products and sums fit.
  const uint64_t item_bytes = ItemBytes(ref.dtype);
  const uint64_t begin = offset->second + kCountBytes;
  const uint64_t needed = kCountBytes + ref.root_items * item_bytes;
  if (!InRange(offset->second, needed, source_->size())) {
    return Fail(place, ErrorKind::kCorrupt,
                "file ends after " + std::to_string(source_->size()) + " bytes, expected at least " +
                    std::to_string(offset->second + needed) + ", where storage " + Quote(key) +
                    " ends: it is truncated");
  }
  DCPCTL_TRY(CheckCount(ref.root_key == ref.key ? ref : refs_.at(ref.root_key), offset->second));
  const uint64_t bytes = ref.items * item_bytes;
  return StoredTensor{.offset = begin + ref.first_item * item_bytes, .bytes = bytes, .crc_known = bytes == 0};
}

}  // namespace dcpctl::torch

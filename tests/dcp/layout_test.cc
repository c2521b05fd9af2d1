#include "dcp/layout.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/crc32.h"
#include "support/result.h"
#include "torch/archive.h"
#include "torch/sample_archive.h"
#include "zip/raw_zip.h"

namespace dcpctl::dcp {
namespace {

using test::Value;

// A tensor of bytes.
NewItem TensorItem(uint64_t bytes) {
  pickle::Document document;
  const auto count = static_cast<int64_t>(bytes);
  const torch::SampleTensor sample{.storage_class = "ByteStorage", .items = count, .shape = {count}, .strides = {1}};
  return {.pickle = Value(pickle::WritePickle(torch::MakeSample(document, sample))),
          .storage_bytes = {bytes},
          .is_tensor = true};
}

NewItem ObjectItem(const std::string& text, std::vector<uint64_t> storages = {}) {
  pickle::Document document;
  return {.pickle = Value(pickle::WritePickle(document.String(text))),
          .storage_bytes = std::move(storages),
          .is_tensor = false};
}

// What storage `slot` holds in these tests.
std::string Payload(zip::SlotId slot, uint64_t bytes) { return std::string(bytes, static_cast<char>('A' + slot % 26)); }

// A data file as its planner puts it together.
struct DataFile {
  std::vector<ItemLayout> items;
  std::vector<PlacedItem> places;
  uint64_t bytes = 0;
};

DataFile LayOut(const std::vector<NewItem>& items) {
  DataFile file;
  for (const NewItem& item : items) {
    file.items.push_back(Value(MakeItemLayout(item)));
    const uint64_t length = file.items.back().archive.total_bytes;
    file.places.push_back({.offset = StartOf(file.items.back(), file.bytes), .length = length});
    file.bytes = file.places.back().offset + length;
  }
  return file;
}

// The bytes of the file, zeros between the items; fails the test where a byte of an item is written twice or never.
std::string Fill(const DataFile& file) {
  std::string bytes(file.bytes, '\0');
  for (size_t i = 0; i < file.items.size(); ++i) {
    const zip::ArchiveLayout& archive = file.items[i].archive;
    const uint64_t start = file.places[i].offset;
    std::vector<bool> written(archive.total_bytes, false);
    const auto put = [&](uint64_t offset, const std::string& text) {
      ASSERT_LE(offset + text.size(), archive.total_bytes);
      bytes.replace(start + offset, text.size(), text);
      for (size_t b = offset; b < offset + text.size(); ++b) {
        EXPECT_FALSE(written[b]) << "byte " << b << " twice";
        written[b] = true;
      }
    };
    for (const zip::PlacedSlot& slot : archive.slots) put(slot.offset, Payload(slot.id, slot.bytes));
    for (const zip::Literal& literal : archive.literals) {
      put(literal.offset, literal.bytes);
      for (const zip::CrcHole& hole : literal.holes) {
        const auto slot = std::ranges::find(archive.slots, hole.slot, &zip::PlacedSlot::id);
        const uint32_t crc = Crc32(test::BytesOf(Payload(slot->id, slot->bytes)));
        for (size_t b = 0; b < 4; ++b) {
          EXPECT_EQ(literal.bytes.at(hole.pos + b), '\0');
          bytes[start + literal.offset + hole.pos + b] = static_cast<char>(crc >> (8 * b));
        }
      }
    }
    EXPECT_EQ(std::count(written.begin(), written.end(), false), 0);
  }
  return bytes;
}

// Each item is an archive of its own with its storages, and nothing but zeros lies between.
void ExpectHolds(const DataFile& file, const std::vector<NewItem>& items) {
  const std::string bytes = Fill(file);
  const MemorySource source = zip::AsSource(bytes);
  uint64_t end = 0;
  for (size_t i = 0; i < items.size(); ++i) {
    SCOPED_TRACE("item " + std::to_string(i));
    const PlacedItem& place = file.places[i];
    ASSERT_GE(place.offset, end);
    EXPECT_EQ(bytes.substr(end, place.offset - end), std::string(place.offset - end, '\0'));
    end = place.offset + place.length;
    ASSERT_LE(end, bytes.size());
    const torch::Archive archive = Value(torch::OpenArchive(source, place.offset, place.length, Limits{}));
    EXPECT_EQ(archive.prefix, "archive/");
    EXPECT_EQ(Value(pickle::WritePickle(archive.document.root())), items[i].pickle);
    for (size_t s = 0; s < items[i].storage_bytes.size(); ++s) {
      const torch::Record record = Value(torch::FindStorage(source, archive, std::to_string(s)));
      const std::string payload = Payload(s, items[i].storage_bytes[s]);
      EXPECT_EQ(record.bytes, payload.size());
      EXPECT_EQ(bytes.substr(record.offset, record.bytes), payload);
      EXPECT_TRUE(record.crc_known);
      EXPECT_EQ(record.crc, Crc32(test::BytesOf(payload)));
      if (items[i].is_tensor && record.bytes > 0) {
        EXPECT_EQ(record.offset % kPayloadAlignment, 0U);
      }
    }
  }
  EXPECT_EQ(end, bytes.size());
}

TEST(DataFileLayout, PutsPayloadsOfTensorsOnBlocksOfTheFile) {
  const std::vector<NewItem> items = {TensorItem(5), TensorItem(4096), TensorItem(10'000), TensorItem(1)};
  const DataFile file = LayOut(items);
  for (size_t i = 0; i < 4; ++i) {
    ASSERT_EQ(file.items[i].archive.slots.size(), 1U);
    EXPECT_EQ((file.places[i].offset + file.items[i].archive.slots[0].offset) % 4096, 0U);
    EXPECT_EQ(file.items[i].archive.slots[0].bytes, items[i].storage_bytes[0]);
  }
  ExpectHolds(file, items);
}

TEST(DataFileLayout, LeavesNoGapBetweenObjects) {
  const std::vector<NewItem> items = {ObjectItem("first"), ObjectItem("second", {3, 100}), ObjectItem("third")};
  const DataFile file = LayOut(items);
  EXPECT_EQ(file.places[0].offset, 0U);
  EXPECT_EQ(file.places[1].offset, file.places[0].length);
  EXPECT_EQ(file.places[2].offset, file.places[1].offset + file.places[1].length);
  ExpectHolds(file, items);
}

// It has no payload to align, and takes no room for one.
TEST(DataFileLayout, PutsATensorWithoutElementsAfterTheLast) {
  const std::vector<NewItem> items = {ObjectItem("o"), TensorItem(0), TensorItem(8), TensorItem(0)};
  const DataFile file = LayOut(items);
  EXPECT_EQ(file.places[1].offset, file.places[0].length);
  EXPECT_EQ(file.places[3].offset, file.places[2].offset + file.places[2].length);
  EXPECT_TRUE(file.items[1].archive.slots.empty());
  ExpectHolds(file, items);
}

RC_GTEST_PROP(DataFileLayout, HoldsAnyItems, ()) {
  std::vector<NewItem> items;
  const auto sizes = *rc::gen::container<std::vector<uint64_t>>(rc::gen::inRange<uint64_t>(0, 9000));
  for (const uint64_t size : sizes)
    items.push_back(size % 3 == 0 ? ObjectItem("object", {size, size / 2}) : TensorItem(size % 5 == 0 ? 0 : size));
  const DataFile file = LayOut(items);
  ExpectHolds(file, items);
  RC_ASSERT(!testing::Test::HasFailure());
}

}  // namespace
}  // namespace dcpctl::dcp

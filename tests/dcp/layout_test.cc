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

// The bytes of the file; fails the test where a byte is written twice or never.
std::string Fill(const DataFileLayout& layout) {
  std::string bytes(layout.bytes.total_bytes, '?');
  std::vector<bool> written(bytes.size(), false);
  const auto put = [&](uint64_t offset, const std::string& text) {
    ASSERT_LE(offset + text.size(), bytes.size());
    bytes.replace(offset, text.size(), text);
    for (size_t i = 0; i < text.size(); ++i) {
      EXPECT_FALSE(written[offset + i]) << "byte " << offset + i << " twice";
      written[offset + i] = true;
    }
  };
  std::vector<std::string> payloads;
  for (const zip::PlacedSlot& slot : layout.bytes.slots) {
    put(slot.offset, Payload(slot.id, slot.bytes));
    if (payloads.size() <= slot.id) payloads.resize(slot.id + 1);
    payloads[slot.id] = Payload(slot.id, slot.bytes);
  }
  for (const DataFileGap& gap : layout.gaps) put(gap.offset, std::string(gap.bytes, '\0'));
  for (const zip::Literal& literal : layout.bytes.literals) {
    put(literal.offset, literal.bytes);
    for (const zip::CrcHole& hole : literal.holes) {
      const uint32_t crc = Crc32(test::BytesOf(payloads.at(hole.slot)));
      for (size_t i = 0; i < 4; ++i) {
        EXPECT_EQ(bytes.at(literal.offset + hole.pos + i), '\0');
        bytes[literal.offset + hole.pos + i] = static_cast<char>(crc >> (8 * i));
      }
    }
  }
  EXPECT_EQ(std::count(written.begin(), written.end(), false), 0);
  return bytes;
}

// Each item is an archive of its own with its storages, and nothing but zeros lies between.
void ExpectHolds(const std::string& bytes, const DataFileLayout& layout, const std::vector<NewItem>& items) {
  ASSERT_EQ(layout.items.size(), items.size());
  const MemorySource source = zip::AsSource(bytes);
  uint64_t end = 0;
  zip::SlotId slot = 0;
  for (size_t i = 0; i < items.size(); ++i) {
    SCOPED_TRACE("item " + std::to_string(i));
    const PlacedItem& place = layout.items[i];
    ASSERT_GE(place.offset, end);
    EXPECT_EQ(bytes.substr(end, place.offset - end), std::string(place.offset - end, '\0'));
    end = place.offset + place.length;
    ASSERT_LE(end, bytes.size());
    const torch::Archive archive = Value(torch::OpenArchive(source, place.offset, place.length, Limits{}));
    EXPECT_EQ(archive.prefix, "archive/");
    EXPECT_EQ(Value(pickle::WritePickle(archive.document.root())), items[i].pickle);
    for (size_t s = 0; s < items[i].storage_bytes.size(); ++s, ++slot) {
      const torch::Record record = Value(torch::FindStorage(source, archive, std::to_string(s)));
      const std::string payload = Payload(slot, items[i].storage_bytes[s]);
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
  const DataFileLayout layout = Value(MakeDataFileLayout(items));
  ASSERT_EQ(layout.bytes.slots.size(), 4U);
  for (uint64_t i = 0; i < 4; ++i) {
    EXPECT_EQ(layout.bytes.slots[i].id, i);
    EXPECT_EQ(layout.bytes.slots[i].offset % 4096, 0U);
    EXPECT_EQ(layout.bytes.slots[i].bytes, items[i].storage_bytes[0]);
  }
  ExpectHolds(Fill(layout), layout, items);
}

TEST(DataFileLayout, LeavesNoGapBetweenObjects) {
  const std::vector<NewItem> items = {ObjectItem("first"), ObjectItem("second", {3, 100}), ObjectItem("third")};
  const DataFileLayout layout = Value(MakeDataFileLayout(items));
  EXPECT_EQ(layout.items[0].offset, 0U);
  EXPECT_EQ(layout.items[1].offset, layout.items[0].length);
  EXPECT_EQ(layout.items[2].offset, layout.items[1].offset + layout.items[1].length);
  ExpectHolds(Fill(layout), layout, items);
}

TEST(DataFileLayout, NumbersStoragesThroughTheFile) {
  const std::vector<NewItem> items = {ObjectItem("o", {1, 2}), TensorItem(3), ObjectItem("none"), TensorItem(4)};
  const DataFileLayout layout = Value(MakeDataFileLayout(items));
  std::vector<uint64_t> bytes;
  for (const zip::PlacedSlot& slot : layout.bytes.slots) bytes.push_back(slot.bytes);
  EXPECT_EQ(bytes, (std::vector<uint64_t>{1, 2, 3, 4}));
  ExpectHolds(Fill(layout), layout, items);
}

// It has no payload to align, and takes no room for one.
TEST(DataFileLayout, PutsATensorWithoutElementsAfterTheLast) {
  const std::vector<NewItem> items = {ObjectItem("o"), TensorItem(0), TensorItem(8), TensorItem(0)};
  const DataFileLayout layout = Value(MakeDataFileLayout(items));
  EXPECT_EQ(layout.items[1].offset, layout.items[0].length);
  EXPECT_EQ(layout.items[3].offset, layout.items[2].offset + layout.items[2].length);
  ASSERT_EQ(layout.bytes.slots.size(), 1U);
  EXPECT_EQ(layout.bytes.slots[0].id, 1U);
  ExpectHolds(Fill(layout), layout, items);
}

TEST(DataFileLayout, OfNothingIsEmpty) {
  const DataFileLayout layout = Value(MakeDataFileLayout({}));
  EXPECT_EQ(layout.bytes.total_bytes, 0U);
  EXPECT_TRUE(layout.bytes.literals.empty());
  EXPECT_TRUE(layout.items.empty());
}

TEST(DataFileLayout, JoinsLiteralsThatTouch) {
  const DataFileLayout layout =
      Value(MakeDataFileLayout({ObjectItem("a"), ObjectItem("b"), TensorItem(7), TensorItem(9)}));
  EXPECT_EQ(layout.bytes.literals.size(), 5U);  // the objects; and what is before and after each payload
}

RC_GTEST_PROP(DataFileLayout, HoldsAnyItems, ()) {
  std::vector<NewItem> items;
  const auto sizes = *rc::gen::container<std::vector<uint64_t>>(rc::gen::inRange<uint64_t>(0, 9000));
  for (const uint64_t size : sizes)
    items.push_back(size % 3 == 0 ? ObjectItem("object", {size, size / 2}) : TensorItem(size % 5 == 0 ? 0 : size));
  const DataFileLayout layout = Value(MakeDataFileLayout(items));
  ExpectHolds(Fill(layout), layout, items);
  RC_ASSERT(!testing::Test::HasFailure());
}

}  // namespace
}  // namespace dcpctl::dcp

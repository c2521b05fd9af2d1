#include "zip/layout.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include "base/crc32.h"
#include "tests/support/result.h"
#include "tests/zip/make_layout.h"
#include "tests/zip/raw_zip.h"
#include "zip/read.h"

namespace dcpctl::zip {
namespace {

using test::BytesOf;
using test::ErrorOf;
using test::TextOf;
using test::Value;

std::string ReadFile(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  EXPECT_TRUE(in) << path;
  return {std::istreambuf_iterator<char>(in), {}};
}

// Puts payloads and CRCs in, after checking that literals and slots cover the archive once.
std::string Assemble(const ArchiveLayout& layout, const std::map<SlotId, std::string>& payloads,
                     const std::map<SlotId, uint32_t>& crcs) {
  std::map<uint64_t, std::string> pieces;
  for (const Literal& literal : layout.literals) {
    std::string bytes = literal.bytes;
    for (const CrcHole& hole : literal.holes) {
      EXPECT_EQ(bytes.substr(hole.pos, 4), std::string(4, '\0'));
      for (int i = 0; i < 4; ++i)
        bytes[hole.pos + static_cast<size_t>(i)] = static_cast<char>(crcs.at(hole.slot) >> (8 * i));
    }
    EXPECT_TRUE(pieces.emplace(literal.offset, bytes).second);
  }
  for (const PlacedSlot& slot : layout.slots) {
    EXPECT_EQ(slot.bytes, payloads.at(slot.id).size());
    EXPECT_TRUE(pieces.emplace(slot.offset, payloads.at(slot.id)).second);
  }
  std::string bytes;
  for (const auto& [offset, piece] : pieces) {
    EXPECT_EQ(offset, bytes.size());
    bytes += piece;
  }
  EXPECT_EQ(bytes.size(), layout.total_bytes);
  return bytes;
}

// Lays out what is in a real file again: its records with the alignment it was written with.
std::string Rebuild(const std::string& original, uint64_t alignment, bool literals) {
  const MemorySource source = AsSource(original);
  const Directory directory = Value(ReadDirectory(source, 0, original.size(), Limits{}));
  std::vector<NewRecord> records;
  std::map<SlotId, std::string> payloads;
  std::map<SlotId, uint32_t> crcs;
  for (const Entry& entry : directory.entries) {
    const std::string payload = TextOf(Value(ReadRecord(source, entry, 1 << 30)));
    NewRecord record{.name = entry.name, .content = payload, .alignment = alignment};
    if (!literals || entry.name.find("/data/") != std::string::npos) {
      const SlotId id = payloads.size() + 100;
      payloads[id] = payload;
      crcs[id] = entry.crc;
      record.content = Slot{.id = id, .bytes = payload.size()};
    }
    records.push_back(record);
  }
  return Assemble(Value(MakeArchiveLayout(std::move(records))), payloads, crcs);
}

std::vector<std::filesystem::path> ZipFilesOf(const std::string& version) {
  std::vector<std::filesystem::path> paths;
  for (const auto& file : std::filesystem::directory_iterator(DCPCTL_TESTDATA_DIR "/" + version + "/files")) {
    if (file.path().extension() == ".pt" && ReadFile(file.path()).starts_with("PK")) paths.push_back(file.path());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

class ZipLayoutOf : public testing::TestWithParam<std::string> {};

TEST_P(ZipLayoutOf, RebuildsRealFilesByteForByte) {
  const std::vector<std::filesystem::path> paths = ZipFilesOf(GetParam());
  EXPECT_GE(paths.size(), 15U);
  for (const std::filesystem::path& path : paths) {
    const std::string original = ReadFile(path);
    const uint64_t alignment = path.filename() == "aligned4096.pt" ? 4096 : 64;
    EXPECT_TRUE(Rebuild(original, alignment, false) == original) << path;
    if (path.filename() == "nocrc.pt") continue;  // its literals would have CRCs
    EXPECT_TRUE(Rebuild(original, alignment, true) == original) << path;
  }
}

INSTANTIATE_TEST_SUITE_P(Torch, ZipLayoutOf,
                         testing::Values("torch-1.13.1", "torch-2.0.1", "torch-2.3.1", "torch-2.4.1", "torch-2.7.1",
                                         "torch-2.9.1", "torch-2.13.0", "torch-2.15.0"),
                         [](const auto& param) {
                           std::string name = param.param;
                           std::replace_if(
                               name.begin(), name.end(), [](char c) { return c == '-' || c == '.'; }, '_');
                           return name;
                         });

TEST(ZipLayout, LeavesHolesForPayloadCrcsOnly) {
  const ArchiveLayout layout = Value(
      MakeArchiveLayout({{.name = "a/x", .content = "text"}, {.name = "a/y", .content = Slot{.id = 7, .bytes = 3}}}));
  ASSERT_EQ(layout.literals.size(), 2U);
  EXPECT_TRUE(layout.literals[0].holes.empty());
  ASSERT_EQ(layout.literals[1].holes.size(), 2U);
  EXPECT_EQ(layout.literals[1].holes[0].pos, 4U);  // descriptor: behind its signature
  EXPECT_EQ(layout.literals[1].holes[0].slot, 7U);
  ASSERT_EQ(layout.slots.size(), 1U);
  EXPECT_EQ(layout.slots[0].offset, 128U);
  EXPECT_EQ(layout.literals[0].bytes.size(), 128U);
  EXPECT_EQ(layout.literals[1].offset, 131U);
}

TEST(ZipLayout, SlotWithoutBytesIsLiteral) {
  const ArchiveLayout layout = Value(MakeArchiveLayout({{.name = "x", .content = Slot{.id = 1, .bytes = 0}}}));
  EXPECT_TRUE(layout.slots.empty());
  ASSERT_EQ(layout.literals.size(), 1U);
  EXPECT_TRUE(layout.literals[0].holes.empty());
  const MemorySource source = AsSource(layout.literals[0].bytes);
  const Directory directory = Value(ReadDirectory(source, 0, source.size(), Limits{}));
  EXPECT_EQ(directory.entries[0].flags, 0x0800);  // no descriptor
  EXPECT_EQ(directory.directory_offset, 64U);
}

TEST(ZipLayout, AlignsEveryRecord) {
  const ArchiveLayout layout =
      Value(MakeArchiveLayout({{.name = "x", .content = "1", .alignment = 1},
                               {.name = "y", .content = Slot{.id = 0, .bytes = 5}, .alignment = 4096},
                               {.name = "z", .content = Slot{.id = 1, .bytes = 5}, .alignment = 32768}}));
  EXPECT_EQ(layout.slots[0].offset, 4096U);
  EXPECT_EQ(layout.slots[1].offset, 32768U);
}

TEST(ZipLayout, RefusesWhatZipCannotSay) {
  const auto error_of = [](NewRecord record) { return ErrorOf(MakeArchiveLayout({std::move(record)})); };
  EXPECT_EQ(error_of({.name = "", .content = ""}).kind(), ErrorKind::kUsage);
  EXPECT_EQ(error_of({.name = std::string(65536, 'n'), .content = ""}).kind(), ErrorKind::kUsage);
  EXPECT_EQ(error_of({.name = "x", .content = "", .alignment = 0}).kind(), ErrorKind::kUsage);
  EXPECT_EQ(error_of({.name = "x", .content = "", .alignment = 65536}).kind(), ErrorKind::kUsage);
  EXPECT_EQ(error_of({.name = "x", .content = Slot{.id = 0, .bytes = UINT64_MAX}}).kind(), ErrorKind::kLimit);
  EXPECT_EQ(error_of({.name = "x", .content = Slot{.id = 0, .bytes = uint64_t{1} << 63}}).kind(), ErrorKind::kLimit);
  EXPECT_TRUE(MakeArchiveLayout({{.name = std::string(65535, 'n'), .content = "", .alignment = 32768}}));
}

// A layout as a file whose payloads are zeros.
class LayoutSource final : public ByteSource {
 public:
  explicit LayoutSource(const ArchiveLayout& layout) : layout_(layout) {}
  Result<void> ReadAt(uint64_t offset, std::span<std::byte> out) const override {
    for (size_t i = 0; i < out.size(); ++i) {
      out[i] = std::byte{0};
      for (const Literal& literal : layout_.literals) {
        if (offset + i >= literal.offset && offset + i - literal.offset < literal.bytes.size()) {
          out[i] = static_cast<std::byte>(literal.bytes[offset + i - literal.offset]);
        }
      }
    }
    return {};
  }
  [[nodiscard]] uint64_t size() const override { return layout_.total_bytes; }
  [[nodiscard]] const std::string& name() const override { return name_; }

 private:
  const ArchiveLayout& layout_;
  std::string name_ = "layout";
};

TEST(ZipLayout, LargeRecordsAndOffsetsUseZip64) {
  const uint64_t large = (uint64_t{1} << 32) + 8;
  const ArchiveLayout layout = Value(MakeArchiveLayout({{.name = "a/small", .content = Slot{.id = 0, .bytes = 16}},
                                                        {.name = "a/large", .content = Slot{.id = 1, .bytes = large}},
                                                        {.name = "a/behind", .content = Slot{.id = 2, .bytes = 16}},
                                                        {.name = "a/empty", .content = ""},
                                                        {.name = "a/version", .content = "3\n"}}));
  const LayoutSource source(layout);
  const Directory directory = Value(ReadDirectory(source, 0, source.size(), Limits{}));
  ASSERT_EQ(directory.entries.size(), 5U);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(directory.entries[i].bytes, layout.slots[i].bytes);
    EXPECT_EQ(Value(FindPayload(source, directory.entries[i])), layout.slots[i].offset);
    EXPECT_EQ(layout.slots[i].offset % 64, 0U);
  }
  const auto bytes_at = [&](uint64_t offset, size_t count) { return TextOf(Value(ReadRange(source, offset, count))); };
  // The large record: two sizes in the extra field, and a descriptor of 24 bytes.
  const uint64_t large_extra = directory.entries[1].header_offset + 30 + 7;
  EXPECT_EQ(bytes_at(large_extra, 20), std::string("\x01\0\x10\0\x08\0\0\0\x01\0\0\0\x08\0\0\0\x01\0\0\0", 20));
  EXPECT_EQ(bytes_at(large_extra + 20, 2), "FB");
  EXPECT_EQ(directory.entries[2].header_offset, layout.slots[1].offset + large + 24);
  // Behind it: the header offset in the extra field, and a descriptor of 24 bytes for 16 of data.
  const uint64_t behind_extra = directory.entries[2].header_offset + 30 + 8;
  EXPECT_EQ(bytes_at(behind_extra, 4), std::string("\x01\0\x08\0", 4));
  EXPECT_EQ(bytes_at(behind_extra + 12, 2), "FB");
  EXPECT_EQ(directory.entries[3].header_offset, layout.slots[2].offset + 16 + 24);
  // Empty: no descriptor at all.
  EXPECT_EQ(directory.entries[3].flags, 0x0800);
  EXPECT_EQ(directory.entries[4].header_offset % 64, 0U);
  EXPECT_EQ(TextOf(Value(ReadRecord(source, directory.entries[4], 2))), "3\n");
}

TEST(ZipLayout, HoldsMoreEntriesThanFit16Bits) {
  std::vector<NewRecord> records;
  for (uint64_t i = 0; i < 70000; ++i) {
    records.push_back({.name = "a/" + std::to_string(i), .content = Slot{.id = i, .bytes = 0}, .alignment = 1});
  }
  const ArchiveLayout layout = Value(MakeArchiveLayout(std::move(records)));
  ASSERT_EQ(layout.literals.size(), 1U);
  const std::string& bytes = layout.literals[0].bytes;
  EXPECT_EQ(bytes.substr(bytes.size() - 22 + 8, 4), "\xff\xff\xff\xff");  // both counts of the end record
  const MemorySource source = AsSource(bytes);
  const Directory directory = Value(ReadDirectory(source, 0, bytes.size(), Limits{}));
  ASSERT_EQ(directory.entries.size(), 70000U);
  EXPECT_EQ(directory.entries[69999].name, "a/69999");
  EXPECT_NE(directory.Find("a/65536"), nullptr);
}

}  // namespace
}  // namespace dcpctl::zip

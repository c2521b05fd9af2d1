#include "torch/layout.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/support/result.h"
#include "tests/torch/sample_archive.h"
#include "tests/zip/raw_zip.h"
#include "torch/archive.h"

namespace dcpctl::torch {
namespace {

using test::Value;

TEST(TorchLayout, WritesRecordsInTorchsOrder) {
  pickle::Document document;
  const MemorySource source = zip::AsSource(SaveTorch(document.None(), {"first", "", "third"}));
  const Archive archive = Value(OpenArchive(source, 0, source.size(), Limits{}));
  std::vector<std::string> names;
  for (const zip::Entry& entry : archive.directory.entries) names.push_back(entry.name);
  EXPECT_EQ(names, (std::vector<std::string>{"archive/data.pkl", "archive/byteorder", "archive/data/0",
                                             "archive/data/1", "archive/data/2", "archive/version"}));
  EXPECT_EQ(archive.version, 3U);
  EXPECT_FALSE(archive.big_endian);
  EXPECT_EQ(test::TextOf(Value(zip::ReadRecord(source, *FindEntry(archive, "data/2"), 5))), "third");
  EXPECT_EQ(Value(FindStorage(source, archive, "1")).bytes, 0U);
}

TEST(TorchLayout, AlignsStoragesAsAsked) {
  const std::vector<NewStorage> storages = {{.bytes = 5}, {.bytes = 5, .alignment = 4096}};
  const zip::ArchiveLayout layout = Value(MakeTorchLayout("pickle", storages));
  ASSERT_EQ(layout.slots.size(), 2U);
  EXPECT_EQ(layout.slots[0].id, 0U);
  EXPECT_EQ(layout.slots[0].offset % 64, 0U);
  EXPECT_EQ(layout.slots[1].offset, 4096U);
}

}  // namespace
}  // namespace dcpctl::torch

#include "torch/object.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "tests/support/result.h"
#include "tests/torch/sample_archive.h"
#include "tests/zip/raw_zip.h"
#include "torch/archive.h"

namespace dcpctl::torch {
namespace {

using test::Value;

// The object that a file of `root` and these storages has.
Result<std::shared_ptr<const ObjectValue>> Copy(pickle::Value root, const std::vector<std::string>& storages) {
  const MemorySource source = zip::AsSource(SaveTorch(root, storages));
  const Archive archive = Value(OpenArchive(source, 0, source.size(), Limits{}));
  return CopyObject(ArchiveStorages(source, archive), archive.document.root(), Limits{});
}

TEST(TorchObject, CopiesGraphAndListsStoragesOnce) {
  pickle::Document document;
  const SampleTensor first{.key = "1", .items = 2, .shape = {2}, .strides = {1}};
  const SampleTensor second{.key = "0", .items = 1};
  const pickle::Value root = document.Tuple({MakeSample(document, first), MakeSample(document, first),
                                             MakeSample(document, second), document.String("text")});
  const auto object = Value(Copy(root, {"four", "eight..."}));
  std::map<std::string, uint64_t> sizes;
  for (const ObjectStorage& storage : object->storages) sizes[storage.key] = storage.stored.bytes;
  EXPECT_EQ(object->storages.size(), 2U);
  EXPECT_EQ(sizes, (std::map<std::string, uint64_t>{{"0", 4}, {"1", 8}}));
  EXPECT_EQ(Value(pickle::WritePickle(object->document.root())), Value(pickle::WritePickle(root)));
}

TEST(TorchObject, TakesStoragesOfUnknownClassAsTheyAre) {
  pickle::Document document;
  const auto object = Value(Copy(MakeSample(document, {.storage_class = "QUInt4x2Storage", .items = 3}), {"123"}));
  ASSERT_EQ(object->storages.size(), 1U);
  EXPECT_EQ(object->storages[0].stored.bytes, 3U);
}

TEST(TorchObject, RefusesUnknownClassOfUnknownSize) {
  pickle::Document document;
  const pickle::Value text = document.String("storage");
  const pickle::Value id =
      document.Tuple({text, document.Global("torch", "QUInt4x2Storage"), document.String("0"), text, text});
  EXPECT_EQ(test::ErrorOf(Copy(document.PersistentId(id), {"123"})).kind(), ErrorKind::kUnsupported);
}

// The order of a typed storage's bytes is known, that of untyped ones is not.
TEST(TorchObject, KeepsTheUnitInWhichBigEndianItemsAreTurnedAround) {
  const auto copy = [](const std::string& storage_class) {
    pickle::Document document;
    const std::string items(16, 'x');
    const MemorySource source = zip::AsSource(SaveTorch(
        MakeSample(document, {.storage_class = storage_class, .items = storage_class[0] == 'U' ? 16 : 2}), {items}));
    Archive archive = Value(OpenArchive(source, 0, source.size(), Limits{}));
    archive.big_endian = true;
    return CopyObject(ArchiveStorages(source, archive), archive.document.root(), Limits{});
  };
  EXPECT_EQ(Value(copy("DoubleStorage"))->storages.at(0).swap_unit, 8U);
  EXPECT_TRUE(Value(copy("DoubleStorage"))->storages.at(0).stored.big_endian);
  EXPECT_EQ(test::ErrorOf(copy("UntypedStorage")).kind(), ErrorKind::kUnsupported);
}

TEST(TorchObject, ListsNoStorageOfMetaTensors) {
  pickle::Document document;
  EXPECT_TRUE(Value(Copy(MakeSample(document, {.location = "meta", .items = 3}), {}))->storages.empty());
}

TEST(TorchObject, RejectsStoragesThatAreNotThere) {
  pickle::Document document;
  EXPECT_EQ(test::ErrorOf(Copy(MakeSample(document, {.items = 3}), {})).kind(), ErrorKind::kCorrupt);
  EXPECT_EQ(test::ErrorOf(Copy(MakeSample(document, {.items = 3}), {"short"})).kind(), ErrorKind::kCorrupt);
  EXPECT_EQ(test::ErrorOf(Copy(MakeSample(document, {.items = INT64_MAX}), {"short"})).kind(), ErrorKind::kCorrupt);
  EXPECT_EQ(test::ErrorOf(Copy(document.PersistentId(document.Int(1)), {})).kind(), ErrorKind::kCorrupt);
}

}  // namespace
}  // namespace dcpctl::torch

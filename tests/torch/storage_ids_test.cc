#include "torch/storage_ids.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/support/result.h"
#include "tests/torch/sample_archive.h"

namespace dcpctl::torch {
namespace {

// Storages of any name, all alike.
class AnyStorages final : public Storages {
 public:
  [[nodiscard]] Result<StoredTensor> Find(std::string_view /*key*/) const override { return StoredTensor{.bytes = 16}; }
  [[nodiscard]] const std::string& file() const override { return file_; }

 private:
  const std::string file_ = "model.pt";
};

// Storage "0" of a state with two tensors.
Result<StoredTensor> Find(const SampleTensor& a, const SampleTensor& b) {
  pickle::Document document;
  document.SetRoot(document.Tuple({MakeSample(document, a), MakeSample(document, b)}));
  const AnyStorages any;
  return ConsistentStorages(any, document).Find("0");
}

TEST(ConsistentStorages, MayBeShared) {
  test::Value(
      Find({.items = 4, .shape = {2}, .strides = {1}}, {.items = 4, .offset = 2, .shape = {2}, .strides = {1}}));
  test::Value(Find({.key = "0", .items = 4}, {.storage_class = "IntStorage", .key = "1", .items = 4}));
}

TEST(ConsistentStorages, HaveItemsOfOneType) {
  const Error error = test::ErrorOf(Find({.items = 4}, {.storage_class = "IntStorage", .items = 4}));
  EXPECT_EQ(error.kind(), ErrorKind::kCorrupt);
  EXPECT_NE(error.message().find("\"0\" has items of int32, expected items of float32"), std::string::npos)
      << error.message();
  EXPECT_EQ(test::ErrorOf(Find({.items = 4}, {.storage_class = "UntypedStorage", .items = 16})).kind(),
            ErrorKind::kCorrupt);
}

TEST(ConsistentStorages, LeaveUnknownClassesAlone) {
  test::Value(Find({.items = 4}, {.storage_class = "NewStorage", .items = 9}));
}

}  // namespace
}  // namespace dcpctl::torch

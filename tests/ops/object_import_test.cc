#include "ops/object_import.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "support/result.h"
#include "torch/sample_archive.h"

namespace dcpctl::ops {
namespace {

using test::Value;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// An object whose pickle `make` builds, with storages of these keys.
Object ObjectOf(const std::function<pickle::Value(pickle::Document&)>& make, const std::vector<std::string>& storages) {
  auto value = std::make_shared<ObjectValue>();
  value->document.SetRoot(make(value->document));
  for (const std::string& key : storages) value->storages.push_back({.key = key, .stored = {}});
  return {.key = "obj", .value = std::move(value)};
}

pickle::Value Tensor(pickle::Document& d, const std::string& key, int64_t items = 3,
                     const std::string& location = "cpu") {
  return torch::MakeSample(
      d, {.key = key, .location = location, .items = items, .shape = {items}, .strides = {1}, .requires_grad = true});
}

class ObjectImportTest : public testing::Test {
 protected:
  Result<pickle::Value> Import(const Object& object) {
    return ImportObject(target_, object, [this](const ObjectStorage& storage) {
      asked_.push_back(storage.key);
      return "new" + std::to_string(asked_.size());
    });
  }
  // The id in a tensor's rebuild call.
  static pickle::Value IdOf(pickle::Value tensor) { return tensor.args()[0].persistent_id(); }

  pickle::Document target_;
  std::vector<std::string> asked_;
};

TEST_F(ObjectImportTest, NumbersStoragesInTheOrderOfFirstUse) {
  const Object object = ObjectOf(
      [](auto& d) {
        const pickle::Value inner = d.List();
        d.Append(inner, Tensor(d, "7"));
        d.Append(inner, Tensor(d, "2"));
        return d.Tuple({inner, Tensor(d, "7"), Tensor(d, "5")});
      },
      {"2", "5", "7"});
  const pickle::Value value = Value(Import(object));
  EXPECT_THAT(asked_, ElementsAre("7", "2", "5"));
  EXPECT_EQ(IdOf(value[0][0])[2].AsText(), "new1");
  EXPECT_EQ(IdOf(value[0][1])[2].AsText(), "new2");
  EXPECT_EQ(IdOf(value[1])[2].AsText(), "new1");
  EXPECT_EQ(IdOf(value[2])[2].AsText(), "new3");
}

TEST_F(ObjectImportTest, KeepsTheRestOfAnId) {
  const Object object = ObjectOf([](auto& d) { return Tensor(d, "0", 5, "cuda:1"); }, {"0"});
  const pickle::Value tensor = Value(Import(object));
  const pickle::Value id = IdOf(tensor);
  ASSERT_EQ(id.size(), 5U);
  EXPECT_EQ(id[0].AsText(), "storage");
  EXPECT_TRUE(id[1].IsGlobal("torch", "FloatStorage"));
  EXPECT_EQ(id[3].AsText(), "cuda:1");
  EXPECT_EQ(id[4].AsInt(), 5);
  EXPECT_TRUE(tensor.args()[4].AsBool());
}

// On the meta device there is no record, and so no storage in the object's list.
TEST_F(ObjectImportTest, AsksNothingForAStorageWithoutData) {
  const Object object = ObjectOf([](auto& d) { return Tensor(d, "9", 3, "meta"); }, {});
  const pickle::Value tensor = Value(Import(object));
  EXPECT_THAT(asked_, IsEmpty());
  EXPECT_EQ(IdOf(tensor)[2].AsText(), "9");
}

TEST_F(ObjectImportTest, KeepsValuesAndSharing) {
  const Object object = ObjectOf(
      [](auto& d) {
        const pickle::Value shared = d.List();
        d.Append(shared, d.Int(1));
        d.Append(shared, d.String("x"));
        const pickle::Value all = d.Dict();
        d.SetItem(all, d.String("a"), shared);
        d.SetItem(all, d.String("b"), shared);
        d.SetItem(all, d.Int(3), d.Call(d.Global("collections", "deque"), {shared}));
        return all;
      },
      {});
  const pickle::Value value = Value(Import(object));
  EXPECT_EQ(pickle::Print(value), pickle::Print(object.value->document.root()));
  EXPECT_EQ(value.value(0).identity(), value.value(1).identity());
}

// Two imports into one document do not know of each other.
TEST_F(ObjectImportTest, NumbersEachObjectForItself) {
  const Object object = ObjectOf([](auto& d) { return Tensor(d, "0"); }, {"0"});
  EXPECT_EQ(IdOf(Value(Import(object)))[2].AsText(), "new1");
  EXPECT_EQ(IdOf(Value(Import(object)))[2].AsText(), "new2");
}

TEST_F(ObjectImportTest, RefusesAnObjectThatWasNotRead) {
  const Error error = test::ErrorOf(Import({.key = "lost"}));
  EXPECT_EQ(error.kind(), ErrorKind::kInternal);
  EXPECT_THAT(error.message(), HasSubstr("\"lost\""));
}

}  // namespace
}  // namespace dcpctl::ops

#include "ops/foreign_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace dcpctl::ops {
namespace {

using pickle::Document;

class ForeignNamesTest : public testing::Test {
 protected:
  std::shared_ptr<const ObjectValue> Add(const std::string& key, const std::function<pickle::Value(Document&)>& make) {
    auto value = std::make_shared<ObjectValue>();
    value->document.SetRoot(make(value->document));
    AddValue(key, value);
    return value;
  }
  void AddValue(const std::string& key, std::shared_ptr<const ObjectValue> value) {
    catalog_.AddObject(key).value = std::move(value);
  }
  std::string Note() {
    const auto note = NoteForeignNames(catalog_, std::vector<bool>(catalog_.entries.size(), true));
    return note ? note->message : "";
  }

  Catalog catalog_;
};

pickle::Value Instance(Document& d, const char* module, const char* name) {
  return d.Object(pickle::Construct::kNewObj, d.Global(module, name), d.Tuple({}));
}

TEST_F(ForeignNamesTest, AreCountedByEntry) {
  const auto shared = Add("a", [](Document& d) {
    return d.Tuple({Instance(d, "acme", "State"), Instance(d, "acme", "State"), Instance(d, "os", "system")});
  });
  AddValue("again", shared);
  Add("plain", [](Document& d) { return d.Call(d.Global("collections", "OrderedDict"), {}); });
  AddValue("unread", nullptr);
  const ForeignSummary summary = FindForeignNames(catalog_, catalog_.entries);
  EXPECT_EQ(summary.objects_read, 3U);
  EXPECT_EQ(summary.objects_with_names, 2U);
  ASSERT_EQ(summary.names.size(), 2U);
  EXPECT_EQ(summary.names[0].name, "acme.State");
  EXPECT_EQ(summary.names[0].entries, 2U);
  EXPECT_FALSE(summary.names[0].refused);
  EXPECT_EQ(summary.names[1].name, "os.system");
  EXPECT_TRUE(summary.names[1].refused);
}

TEST_F(ForeignNamesTest, MakeOneNote) {  // C75
  Add("plain", [](Document& d) { return d.Int(1); });
  EXPECT_EQ(Note(), "");
  Add("a", [](Document& d) { return Instance(d, "acme", "State"); });
  EXPECT_EQ(Note(), "1 object needs weights_only=False: acme.State");
  Add("b", [](Document& d) {
    std::vector<pickle::Value> values;
    for (const char* name : {"A", "B", "C", "D", "E", "F"}) values.push_back(d.Global("zoo", name));
    return d.Tuple(values);
  });
  EXPECT_EQ(Note(), "2 objects need weights_only=False: acme.State, zoo.A, zoo.B, zoo.C, zoo.D and 2 more");
}

TEST_F(ForeignNamesTest, OfUnselectedEntriesDoNotCount) {
  Add("a", [](Document& d) { return Instance(d, "acme", "State"); });
  EXPECT_FALSE(NoteForeignNames(catalog_, {false}));
}

}  // namespace
}  // namespace dcpctl::ops

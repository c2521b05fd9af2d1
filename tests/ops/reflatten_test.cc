#include "ops/reflatten.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "dcp/sample_checkpoint.h"
#include "dcp/survey.h"
#include "ops/to_dcp.h"
#include "support/memory_file_system.h"
#include "support/result.h"
#include "torch/sample_archive.h"

namespace dcpctl::ops {
namespace {

using test::Value;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class ReflattenTest : public testing::Test {
 protected:
  // Keys of the entries that another flattening makes, objects with their values.
  std::vector<std::string> Entries(Flattening rules) {
    sample_.PutOn(files_, "/ckpt");
    Catalog catalog = Value(dcp::SurveyDirectory(files_, "/ckpt", {}));
    EXPECT_THAT(catalog.findings, IsEmpty());
    FlatEntries flat{.catalog = std::move(catalog), .paths = {}, .removed = {}};
    for (const EntryRef entry : flat.catalog.entries) flat.paths.push_back(flat.catalog.KeyPathOf(entry));
    result_ = Value(Reflatten(std::move(flat), rules, {}));
    std::vector<std::string> out;
    for (const EntryRef entry : result_.catalog.entries) {
      std::string text(result_.catalog.KeyOf(entry));
      if (entry.is_tensor) {
        text += " " + ToString(DimsView(result_.catalog.tensors[entry.index].shape));
      } else {
        text += " = " + pickle::Print(result_.catalog.objects[entry.index].value->document.root());
      }
      out.push_back(text);
    }
    return out;
  }

  test::MemoryFileSystem files_;
  dcp::SampleCheckpoint sample_;
  Reflattened result_;
};

TEST_F(ReflattenTest, TakesContainersApart) {  // C125
  sample_.AddTensor("w", {"w"}, {4});
  sample_.AddObject("groups", {"groups"}, [](auto& d) {
    const pickle::Value groups = d.List();
    const pickle::Value group = d.Dict();
    d.SetItem(group, d.String("lr"), d.Int(3));
    d.SetItem(group, d.Int(5), d.Tuple({d.Int(1), d.Int(2)}));
    d.Append(groups, group);
    return groups;
  });
  sample_.AddObject("plain", {"plain"}, [](auto& d) {
    const pickle::Value list = d.List();
    d.Append(list, d.Int(1));
    return list;
  });
  EXPECT_THAT(Entries(Flattening::kAlways),
              ElementsAre("w [4]", "groups.0.lr = 3", "groups.0.5 = (1, 2)", "plain = [1]"));
  EXPECT_EQ(result_.made, (std::vector<bool>{false, true, true, false}));
  EXPECT_EQ(result_.paths[2], (KeyPath{"groups", uint64_t{0}, "5"}));
}

TEST_F(ReflattenTest, PutsEntriesTogether) {
  sample_.AddInt("a.b.lr", {"a", "b", "lr"}, 3);
  sample_.AddInt("a.b.eps", {"a", "b", "eps"}, 4);
  sample_.AddTensor("m.w", {"m", "w"}, {2});
  sample_.AddInt("m.step", {"m", "step"}, 5);
  EXPECT_THAT(Entries(Flattening::kWithTensors),
              ElementsAre("a = {'b': {'lr': 3, 'eps': 4}}", "m.w [2]", "m.step = 5"));
  EXPECT_EQ(result_.made, (std::vector<bool>{true, false, false}));
}

TEST_F(ReflattenTest, KeepsEmptyDictsAsEntries) {
  sample_.AddObject("a", {"a"}, [](auto& d) {
    const pickle::Value a = d.Dict();
    d.SetItem(a, d.String("none"), d.Dict());
    d.SetItem(a, d.String("one"), d.Int(1));
    return a;
  });
  EXPECT_THAT(Entries(Flattening::kAlways), ElementsAre("a.none = {}", "a.one = 1"));
}

TEST_F(ReflattenTest, TellsWhatIsWholeFromWhatIsEmpty) {
  const auto object = [](const std::function<pickle::Value(pickle::Document&)>& make) {
    auto value = std::make_shared<ObjectValue>();
    value->document.SetRoot(make(value->document));
    Object made;
    made.value = std::move(value);
    return IsWholeContainer(made, {});
  };
  EXPECT_FALSE(object([](auto& d) { return d.Dict(); }));
  EXPECT_FALSE(object([](auto& d) { return d.Int(1); }));
  EXPECT_TRUE(object([](auto& d) {
    const pickle::Value dict = d.Dict();
    d.SetItem(dict, d.String("lr"), d.Int(1));
    return dict;
  }));
  EXPECT_TRUE(object([](auto& d) {  // a dict two lists down
    const pickle::Value inner = d.List();
    d.Append(inner, d.Dict());
    const pickle::Value outer = d.List();
    d.Append(outer, inner);
    return outer;
  }));
}

// PyTorch 1.13 kept whole dicts, tensors and all, as one object.
TEST_F(ReflattenTest, MakesEntriesOfTensorsInsideObjects) {
  sample_.AddObject(
      "state", {"state"},
      [](auto& d) {
        const pickle::Value state = d.Dict();
        d.SetItem(state, d.String("m"),
                  torch::MakeSample(d, {.key = "0", .items = 6, .offset = 1, .shape = {2, 2}, .strides = {1, 2}}));
        d.SetItem(state, d.String("pair"),
                  d.Tuple({torch::MakeSample(d, {.key = "1", .items = 3, .shape = {3}, .strides = {1}}), d.Int(7)}));
        return state;
      },
      {dcp::Floats(6, 10), dcp::Floats(3, 20)});
  const std::vector<std::string> entries = Entries(Flattening::kAlways);
  ASSERT_EQ(entries.size(), 2U);
  EXPECT_EQ(entries[0], "state.m [2, 2]");
  files_.PutDirectory("/out");
  Value(ToDcp(files_, "/ckpt", "/out/new", {.compat = "2.6"}));
  const Catalog made = Value(dcp::SurveyDirectory(files_, "/out/new", {}));
  ASSERT_EQ(made.tensors.size(), 1U);
  const Chunk& chunk = made.ChunksOf(made.tensors[0])[0];
  const std::string bytes = *files_.Contents("/out/new/" + made.files[chunk.file].path);
  // Row-major now: 11, 13, 12, 14.
  EXPECT_EQ(bytes.substr(chunk.stored.offset, 16),
            dcp::Floats(1, 11) + dcp::Floats(1, 13) + dcp::Floats(1, 12) + dcp::Floats(1, 14));
  ASSERT_EQ(made.objects.size(), 1U);
  const ObjectStorage& storage = made.objects[0].value->storages.at(0);
  EXPECT_EQ(files_.Contents("/out/new/" + made.files[storage.file].path)->substr(storage.stored.offset, 12),
            dcp::Floats(3, 20));
}

// A storage without data keeps its name, whatever that is; it must not be taken for another entry.
TEST_F(ReflattenTest, IsNotMisledByNamesOfStorages) {
  sample_.AddTensor("w", {"w"}, {4});
  sample_.AddObject("odd", {"odd"}, [](auto& d) {
    const pickle::Value odd = d.Dict();
    d.SetItem(odd, d.String("x"),
              torch::MakeSample(d, {.key = "entry:0", .location = "meta", .items = 4, .shape = {4}, .strides = {1}}));
    return odd;
  });
  Entries(Flattening::kAlways);
  ASSERT_EQ(result_.catalog.entries.size(), 2U);
  EXPECT_FALSE(result_.catalog.entries[1].is_tensor);
}

TEST_F(ReflattenTest, OfOneEntryInAnothersPlaceIsRefused) {
  sample_.AddInt("a", {"a"}, 1);
  sample_.AddInt("a.b", {"a", "b"}, 2);
  sample_.PutOn(files_, "/ckpt");
  FlatEntries flat{
      .catalog = Value(dcp::SurveyDirectory(files_, "/ckpt", {})), .paths = {{"a"}, {"a", "b"}}, .removed = {}};
  EXPECT_EQ(test::ErrorOf(Reflatten(std::move(flat), Flattening::kAlways, {})).kind(), ErrorKind::kMismatch);
}

}  // namespace
}  // namespace dcpctl::ops

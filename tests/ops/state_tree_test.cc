#include "ops/state_tree.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <string>
#include <vector>

#include "support/result.h"

namespace dcpctl::ops {
namespace {

using test::ErrorOf;
using test::Value;
using ::testing::HasSubstr;

KeyPath At(std::initializer_list<PathElement> elements) { return KeyPath(elements); }
PathElement Pos(uint64_t position) { return {position}; }

// Leaves are numbered in the order in which they are added, and stand for themselves.
class Tree {
 public:
  Result<void> Add(const KeyPath& path) {
    return tree_.Add(path, EntryRef(true, next_++), labels_.emplace_back(JoinPath(path)));
  }
  void Remove(const KeyPath& path) { tree_.AddRemoved(path); }
  Result<std::string> Build(bool int_keys = false) {
    pickle::Document document;
    auto root = tree_.Build(document, {.int_keys = int_keys},
                            [&](EntryRef entry) -> Result<pickle::Value> { return document.Int(entry.index); });
    if (!root) return Fail(std::move(root).error());
    return pickle::Print(*root);
  }
  uint64_t removed() const { return tree_.removed_positions(); }

 private:
  std::deque<std::string> labels_;  // which the tree refers to
  StateTree tree_;
  uint32_t next_ = 0;
};

std::string Built(const std::vector<KeyPath>& paths, bool int_keys = false) {
  Tree tree;
  for (const KeyPath& path : paths) Value(tree.Add(path));
  return Value(tree.Build(int_keys));
}

TEST(StateTree, NestsByPathAndNeverByDots) {  // C67
  EXPECT_EQ(Built({At({"optimizer", "state.a.b.exp_avg"})}), "{'optimizer': {'state.a.b.exp_avg': 0}}");
  EXPECT_EQ(Built({At({"optimizer", "state", "a.b", "exp_avg"})}), "{'optimizer': {'state': {'a.b': {'exp_avg': 0}}}}");
  EXPECT_EQ(Built({At({"a.b"}), At({"a", "b"})}), "{'a.b': 0, 'a': {'b': 1}}");
  EXPECT_EQ(Built({At({""}), At({"x", ""})}), "{'': 0, 'x': {'': 1}}");
}

TEST(StateTree, KeepsTheOrderOfArrival) {
  EXPECT_EQ(Built({At({"z"}), At({"a", "y"}), At({"m"}), At({"a", "b"})}), "{'z': 0, 'a': {'y': 1, 'b': 3}, 'm': 2}");
}

TEST(StateTree, OrdersListsByPosition) {  // C69
  std::vector<KeyPath> paths;
  for (const uint64_t position : {0U, 1U, 10U, 11U, 2U, 3U, 4U, 5U, 6U, 7U, 8U, 9U})
    paths.push_back(At({"k", Pos(position)}));
  EXPECT_EQ(Built(paths), "{'k': [0, 1, 4, 5, 6, 7, 8, 9, 10, 11, 2, 3]}");
}

TEST(StateTree, NestsListsInLists) {
  EXPECT_EQ(Built({At({"k", Pos(1), Pos(0)}), At({"k", Pos(0), "a"})}), "{'k': [{'a': 1}, [0]]}");
}

TEST(StateTree, GapsWereEmptyDicts) {  // C127
  EXPECT_EQ(Built({At({"k", Pos(2), "a"})}), "{'k': [{}, {}, {'a': 0}]}");
}

TEST(StateTree, RemovedPositionsBecomeNone) {
  Tree tree;
  Value(tree.Add(At({"k", Pos(1)})));
  Value(tree.Add(At({"k", Pos(4)})));
  tree.Remove(At({"k", Pos(0)}));
  tree.Remove(At({"k", Pos(2), "below"}));
  tree.Remove(At({"k", Pos(2), "also below"}));
  tree.Remove(At({"k", Pos(6)}));
  tree.Remove(At({"other", Pos(0)}));
  tree.Remove(At({"k", "no position"}));
  EXPECT_EQ(Value(tree.Build()), "{'k': [None, 0, None, {}, 1, {}, None]}");
  EXPECT_EQ(tree.removed(), 3U);
}

TEST(StateTree, NamesBothThatWantOnePlace) {
  const auto conflict = [](const std::vector<KeyPath>& paths) {
    Tree tree;
    for (size_t i = 0; i + 1 < paths.size(); ++i) Value(tree.Add(paths[i]));
    const Error error = ErrorOf(tree.Add(paths.back()));
    EXPECT_EQ(error.kind(), ErrorKind::kMismatch);
    return error.message();
  };
  EXPECT_EQ(conflict({At({"a", "b"}), At({"a", "b"})}),
            "entries \"a.b\" and \"a.b\" want the same place in the result, expected one each");
  EXPECT_EQ(conflict({At({"a"}), At({"a", "b"})}),
            "entries \"a\" and \"a.b\" want the same place in the result, expected one each");
  EXPECT_EQ(conflict({At({"a", "b"}), At({"a"})}),
            "entries \"a.b\" and \"a\" want the same place in the result, expected one each");
  EXPECT_EQ(conflict({At({"a", "b"}), At({"a", Pos(0)})}),
            "entries \"a.b\" and \"a.0\" want the same place in the result, expected one each");
  EXPECT_EQ(conflict({At({"a", Pos(0)}), At({"a", "b"})}),
            "entries \"a.0\" and \"a.b\" want the same place in the result, expected one each");
}

TEST(StateTree, RootIsADict) {
  Tree tree;
  const Error error = ErrorOf(tree.Add(At({Pos(0), "a"})));
  EXPECT_EQ(error.kind(), ErrorKind::kMismatch);
  EXPECT_EQ(error.message(), "the path of entry \"0.a\" begins with a list position, expected a name");
}

TEST(StateTree, IntKeysAreThoseOfState) {  // C66
  const std::vector<KeyPath> paths = {At({"optim", "state", "0", "step"}), At({"optim", "state", "1", "step"}),
                                      At({"optim", "count", "0"})};
  EXPECT_EQ(Built(paths), "{'optim': {'state': {'0': {'step': 0}, '1': {'step': 1}}, 'count': {'0': 2}}}");
  EXPECT_EQ(Built(paths, true), "{'optim': {'state': {0: {'step': 0}, 1: {'step': 1}}, 'count': {'0': 2}}}");
  EXPECT_EQ(Built({At({"state", "-3"}), At({"state", "7"})}, true), "{'state': {-3: 0, 7: 1}}");
}

// Text that is not what Python's str(int) makes was no integer before.
TEST(StateTree, OneOddKeyKeepsAllAsText) {
  for (const char* odd : {"01", "+1", " 1", "1.0", "", "-", "-0", "1e3", "weight", "99999999999999999999"}) {
    EXPECT_EQ(Built({At({"state", "0"}), At({"state", odd})}, true),
              "{'state': {'0': 0, '" + std::string(odd) + "': 1}}");
  }
}

TEST(StateTree, RefusesPositionsThatNoListHas) {
  for (const uint64_t position : {uint64_t{10'000'000}, UINT64_MAX}) {
    Tree tree;
    const Error error = ErrorOf(tree.Add(At({"k", Pos(position)})));
    EXPECT_EQ(error.kind(), ErrorKind::kLimit);
    EXPECT_THAT(error.message(), HasSubstr("list position " + std::to_string(position) + " of \"k." +
                                           std::to_string(position) + "\" is too far"));
  }
}

// A few bytes of metadata must not become a list of millions.
TEST(StateTree, RefusesMoreGapsThanAnyCheckpointHas) {
  Tree tree;
  Result<void> added;
  for (int i = 0; i < 100 && added; ++i) added = tree.Add(At({"k" + std::to_string(i), Pos(999'999)}));
  ASSERT_FALSE(added);
  EXPECT_EQ(added.error().kind(), ErrorKind::kLimit);
  Tree gaps;
  Value(gaps.Add(At({"k", Pos(1'000'001)})));
  EXPECT_EQ(ErrorOf(gaps.Build()).kind(), ErrorKind::kLimit);
}

TEST(StateTree, RefusesNestingThatNoReaderTakes) {
  Tree tree;
  Value(tree.Add(KeyPath(5000, std::string("a"))));
  EXPECT_EQ(ErrorOf(tree.Build()).kind(), ErrorKind::kLimit);
}

TEST(StateTree, PassesTheErrorOfALeafOn) {
  StateTree tree;
  Value(tree.Add(At({"a"}), EntryRef(true, 0), "a"));
  pickle::Document document;
  EXPECT_EQ(ErrorOf(tree.Build(document, {},
                               [](EntryRef) -> Result<pickle::Value> { return Fail(ErrorKind::kCorrupt, "bad"); }))
                .message(),
            "bad");
}

}  // namespace
}  // namespace dcpctl::ops

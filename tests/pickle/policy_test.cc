#include "pickle/policy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace dcpctl::pickle {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> Names(const Document& document) {
  std::vector<std::string> names;
  for (const Foreign& foreign : ForeignNames(document)) names.push_back(foreign.name + (foreign.is_attack ? "!" : ""));
  return names;
}

TEST(Policy, KnowsWhatTheWeightsOnlyLoaderKnows) {
  EXPECT_TRUE(IsStandard("collections", "OrderedDict"));
  EXPECT_TRUE(IsStandard("torch", "bfloat16"));
  EXPECT_TRUE(IsStandard("torch", "Size"));
  EXPECT_TRUE(IsStandard("torch", "uint7"));
  EXPECT_TRUE(IsStandard("torch.cuda", "FloatStorage"));
  EXPECT_TRUE(IsStandard("torch._utils", "_rebuild_tensor_v2"));
  EXPECT_TRUE(IsStandard("__builtin__", "set"));
  EXPECT_FALSE(IsStandard("builtins", "frozenset"));
  EXPECT_FALSE(IsStandard("collections", "defaultdict"));
  EXPECT_FALSE(IsStandard("torch", "float"));
  EXPECT_FALSE(IsStandard("torch", "float16 float32"));
  EXPECT_FALSE(IsStandard("torch", ""));
  EXPECT_FALSE(IsStandard("torch.nn", "Parameter"));
}

TEST(Policy, ListsForeignNamesOnce) {
  Document d;
  d.SetRoot(d.Tuple({d.Global("b", "X"), d.Global("a", "Y.z"), d.Global("b", "X"), d.Global("torch", "float32"),
                     d.Global("__builtin__", "eval"), d.Call(d.Global("builtins", "set"), {d.List()})}));
  EXPECT_THAT(Names(d), ElementsAre("a.Y.z", "b.X", "builtins.eval!"));
}

TEST(Policy, CountsWhatProtocol2CallsForAValue) {
  Document d;
  d.SetRoot(d.Tuple({d.Set(), d.Bytes(""), d.ByteArray("x"), d.Float(0.5)}));
  EXPECT_THAT(Names(d), IsEmpty());
  d.SetRoot(d.Tuple({d.root(), d.FrozenSet({})}));
  EXPECT_THAT(Names(d), ElementsAre("builtins.frozenset"));
}

}  // namespace
}  // namespace dcpctl::pickle

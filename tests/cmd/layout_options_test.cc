#include "cmd/layout_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "cmd/options.h"
#include "support/result.h"

namespace dcpctl::cmd {
namespace {

using test::ErrorOf;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// The layout options on one command line.
class LayoutOptionsTest : public testing::Test {
 protected:
  Result<void> Check(std::vector<std::string> words) {
    arguments_ = {};
    CLI::App app;
    AddLayoutOptions(app, arguments_);
    if (auto parsed = ParseArguments(app, "reshard", std::move(words)); !parsed) return Fail(std::move(parsed).error());
    has_layout_ = HasLayout(arguments_);
    layout_ = LayoutOf(arguments_);
    return CheckLayout(arguments_);
  }
  std::string Wrong(std::vector<std::string> words) {
    const Error error = ErrorOf(Check(std::move(words)));
    EXPECT_EQ(error.kind(), ErrorKind::kUsage);
    return error.ToString();
  }

  LayoutArguments arguments_;
  LayoutOptions layout_;
  bool has_layout_ = false;
};

TEST_F(LayoutOptionsTest, MayBeAbsent) {
  EXPECT_TRUE(Check({}));
  EXPECT_FALSE(has_layout_);
  EXPECT_TRUE(layout_.empty());
}

TEST_F(LayoutOptionsTest, AreOneOfFour) {
  EXPECT_TRUE(Check({"--world-size", "3"}));
  EXPECT_TRUE(has_layout_);
  EXPECT_EQ(layout_.world_size, 3U);
  EXPECT_TRUE(Check({"--mesh=dp=2,tp=4", "--placement", "a=dp:shard(0)", "--placement", "b=replicate"}));
  EXPECT_TRUE(has_layout_);
  EXPECT_EQ(layout_.mesh, "dp=2,tp=4");
  EXPECT_THAT(layout_.placements, ElementsAre("a=dp:shard(0)", "b=replicate"));
  EXPECT_TRUE(Check({"--layout", "l.json"}));
  EXPECT_TRUE(has_layout_);
  EXPECT_EQ(layout_.file, "l.json");
  EXPECT_TRUE(Check({"--like", "ckpt"}));
  EXPECT_TRUE(has_layout_);
  EXPECT_EQ(layout_.like, "ckpt");
}

TEST_F(LayoutOptionsTest, ExcludeEachOther) {
  const std::vector<std::vector<std::string>> all = {
      {"--world-size", "2"}, {"--mesh", "a=2"}, {"--layout", "f"}, {"--like", "d"}};
  for (size_t i = 0; i < all.size(); ++i) {
    for (size_t j = i + 1; j < all.size(); ++j)
      EXPECT_THAT(Wrong({all[j][0], all[j][1], all[i][0], all[i][1]}), HasSubstr(all[i][0] + " and " + all[j][0]));
  }
}

TEST_F(LayoutOptionsTest, NeedAMeshForRules) {
  EXPECT_THAT(Wrong({"--placement", "a=shard(0)"}), AllOf(HasSubstr("there is none"), HasSubstr("say --mesh")));
  EXPECT_THAT(Wrong({"--world-size", "2", "--placement", "a=shard(0)"}), HasSubstr("there is none"));
}

TEST_F(LayoutOptionsTest, NeedRanks) {
  EXPECT_THAT(Wrong({"--world-size", "0"}), HasSubstr("expected at least one rank"));
  for (const char* wrong : {"-1", "1000000000", "18446744073709551617", "two"})
    EXPECT_THAT(Wrong({std::string("--world-size=") + wrong}), HasSubstr("expected a number from")) << wrong;
}

}  // namespace
}  // namespace dcpctl::cmd

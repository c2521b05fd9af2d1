#include "dcp/naming.h"

#include <gtest/gtest.h>

namespace dcpctl::dcp {
namespace {

TEST(DataFileName, TellsRankAndBucket) {  // C25
  for (const char* path : {"__3_12.distcp", "epoch_1/__3_12.distcp", "__9_9.distcp/__3_12.distcp"}) {
    const auto name = ParseDataFileName(path);
    ASSERT_TRUE(name) << path;
    EXPECT_EQ(name->rank, 3U);
    EXPECT_EQ(name->bucket, 12U);
  }
  const auto largest = ParseDataFileName("__18446744073709551615_0.distcp");
  ASSERT_TRUE(largest);
  EXPECT_EQ(largest->rank, UINT64_MAX);
}

TEST(DataFileName, IsNothingElse) {
  for (const char* path : {"", "__0_0", "_0_0.distcp", "__0.distcp", "___0_0.distcp", "__a_0.distcp",
                           "__0_0.distcp.tmp", "__-1_0.distcp", "__0_-1.distcp", "__0_0_0.distcp", "__+1_0.distcp",
                           "__ 1_0.distcp", "__18446744073709551616_0.distcp", "x__0_0.distcp", "__0_0.distcp/"}) {
    EXPECT_FALSE(ParseDataFileName(path)) << path;
  }
}

TEST(RankMetadataName, TellsTheRank) {
  EXPECT_EQ(ParseRankMetadataName("__0.metadata"), 0U);
  EXPECT_EQ(ParseRankMetadataName("__120.metadata"), 120U);
}

TEST(RankMetadataName, IsNothingElse) {
  for (const char* name : {".metadata", "__.metadata", "__0.metadata.tmp", "__0_0.metadata", "_0.metadata",
                           "__x.metadata", "a/__0.metadata", "__99999999999999999999.metadata"}) {
    EXPECT_FALSE(ParseRankMetadataName(name)) << name;
  }
}

}  // namespace
}  // namespace dcpctl::dcp

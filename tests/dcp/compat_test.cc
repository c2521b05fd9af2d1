#include "dcp/compat.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "support/result.h"

namespace dcpctl::dcp {
namespace {

using test::ErrorOf;
using test::Value;
using ::testing::HasSubstr;

constexpr std::string_view kPackage = "torch.distributed.checkpoint";
constexpr std::string_view kFirstPackage = "torch.distributed._shard.checkpoint";

struct Case {
  std::string version;
  std::string_view package;
  Flattening flattening;
};

TEST(Compat, FollowsTheVersion) {
  const Case cases[] = {
      {"1.13", kFirstPackage, Flattening::kNone},
      {"1.13.1", kFirstPackage, Flattening::kNone},
      {"1.14", kFirstPackage, Flattening::kNone},
      {"2.0", kPackage, Flattening::kWithTensors},
      {"2.0.1", kPackage, Flattening::kWithTensors},
      {"2.3", kPackage, Flattening::kWithTensors},
      {"2.3.1+cu121", kPackage, Flattening::kWithTensors},
      {"2.4", kPackage, Flattening::kAlways},
      {"2.4.0", kPackage, Flattening::kAlways},
      {"2.13.0+cpu", kPackage, Flattening::kAlways},
      {"2.13", kPackage, Flattening::kAlways},
      {"3.0", kPackage, Flattening::kAlways},
      {"10.1", kPackage, Flattening::kAlways},
  };
  for (const Case& one : cases) {
    SCOPED_TRACE(one.version);
    const Compat compat = Value(CompatOf(one.version));
    EXPECT_EQ(compat.package, one.package);
    EXPECT_EQ(compat.flattening, one.flattening);
  }
}

// The only home of the properties that all versions from 1.13 on know.
TEST(Compat, KeepsThePropertiesWhereAllVersionsFindThem) {
  for (const Compat& compat : {DefaultCompat(), Value(CompatOf("1.13")), Value(CompatOf("2.2")), Value(CompatOf("2.3")),
                               Value(CompatOf("2.15"))}) {
    EXPECT_EQ(compat.properties, "torch.distributed._shard.sharded_tensor.metadata");
    EXPECT_EQ(compat.format_enum, "MEM_FORMAT_ENCODING");
  }
}

TEST(Compat, DefaultFlattensAsTheNewestDo) {
  EXPECT_EQ(DefaultCompat().package, kPackage);
  EXPECT_EQ(DefaultCompat().flattening, Flattening::kAlways);
}

TEST(Compat, RefusesVersionsBeforeDcp) {
  for (const char* version : {"1.12", "1.12.1", "0.4", "1.0", "1.9"}) {
    const Error error = ErrorOf(CompatOf(version));
    EXPECT_EQ(error.kind(), ErrorKind::kUnsupported) << version;
    EXPECT_THAT(error.message(), HasSubstr(version));
    EXPECT_THAT(error.message(), HasSubstr("expected 1.13 or later"));
  }
}

TEST(Compat, RefusesWhatIsNoVersion) {
  for (const char* text : {"", "2", "2.", ".3", "two", "2.x", "2.3rc1", "2,3", " 2.3", "2.3 ", "v2.3", "-2.3", "2.-3",
                           "+2.3", "99999999999.0", "2.99999999999"}) {
    const Error error = ErrorOf(CompatOf(text));
    EXPECT_EQ(error.kind(), ErrorKind::kUsage) << text;
    EXPECT_THAT(error.message(), HasSubstr("expected a PyTorch version like 2.3")) << text;
  }
}

TEST(Compat, KnowsWhichTypesAVersionHas) {
  Value(CheckDType(DefaultCompat(), DType::kFloat4E2M1FNx2));
  Value(CheckDType(Value(CompatOf("1.13")), DType::kBFloat16));
  Value(CheckDType(Value(CompatOf("2.3.1")), DType::kUInt16));
  const Error error = ErrorOf(CheckDType(Value(CompatOf("2.2")), DType::kUInt16));
  EXPECT_EQ(error.kind(), ErrorKind::kUnsupported);
  EXPECT_EQ(error.message(), "PyTorch 2.2 has no uint16, expected 2.3 or later");
  EXPECT_EQ(ErrorOf(CheckDType(Value(CompatOf("1.13.1")), DType::kFloat8E5M2)).kind(), ErrorKind::kUnsupported);
}

}  // namespace
}  // namespace dcpctl::dcp

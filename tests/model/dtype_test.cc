#include "dcpctl/dtype.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

namespace dcpctl {
namespace {

// Written down again, from PyTorch's own documentation and files, so that a slip in dtypes.def shows.
struct Expected {
  std::string_view name;
  uint64_t bytes;
  uint64_t swap_unit;
  std::string_view storage;  // empty: saved as untyped bytes
};
constexpr Expected kExpected[] = {
    {"float64", 8, 8, "DoubleStorage"},
    {"float32", 4, 4, "FloatStorage"},
    {"float16", 2, 2, "HalfStorage"},
    {"bfloat16", 2, 2, "BFloat16Storage"},
    {"complex128", 16, 8, "ComplexDoubleStorage"},
    {"complex64", 8, 4, "ComplexFloatStorage"},
    {"complex32", 4, 2, ""},
    {"int64", 8, 8, "LongStorage"},
    {"int32", 4, 4, "IntStorage"},
    {"int16", 2, 2, "ShortStorage"},
    {"int8", 1, 1, "CharStorage"},
    {"uint8", 1, 1, "ByteStorage"},
    {"bool", 1, 1, "BoolStorage"},
    {"uint16", 2, 2, ""},
    {"uint32", 4, 4, ""},
    {"uint64", 8, 8, ""},
    {"float8_e4m3fn", 1, 1, ""},
    {"float8_e5m2", 1, 1, ""},
    {"float8_e4m3fnuz", 1, 1, ""},
    {"float8_e5m2fnuz", 1, 1, ""},
    {"float8_e8m0fnu", 1, 1, ""},
    {"float4_e2m1fn_x2", 1, 1, ""},
    {"qint8", 1, 1, "QInt8Storage"},
    {"quint8", 1, 1, "QUInt8Storage"},
    {"qint32", 4, 4, "QInt32Storage"},
    {"bits8", 1, 1, ""},
    {"bits1x8", 1, 1, ""},
    {"bits2x4", 1, 1, ""},
    {"bits4x2", 1, 1, ""},
    {"bits16", 2, 2, ""},
};

// Every row of the table; the enum has no other way to be listed.
std::vector<DType> AllDTypes() {
  return {
#define X(constant, name, bytes, swap_unit, floating, storage, safetensors) DType::constant,
#include "dcpctl/dtypes.def"
#undef X
  };
}

TEST(DType, HasTheSizesOfPyTorch) {
  for (const Expected& expected : kExpected) {
    const auto dtype = DTypeFromName(expected.name);
    ASSERT_TRUE(dtype) << expected.name;
    EXPECT_EQ(ItemBytes(*dtype), expected.bytes) << expected.name;
    EXPECT_EQ(SwapUnit(*dtype), expected.swap_unit) << expected.name;
    EXPECT_EQ(StorageClass(*dtype), expected.storage) << expected.name;
  }
}

TEST(DType, HasNoOtherRows) { EXPECT_EQ(AllDTypes().size(), std::size(kExpected)); }

TEST(DType, IsFoundByItsName) {
  std::set<std::string_view> names;
  for (const DType dtype : AllDTypes()) {
    EXPECT_EQ(DTypeFromName(Name(dtype)), dtype);
    EXPECT_TRUE(names.insert(Name(dtype)).second) << Name(dtype);
  }
}

TEST(DType, IsFoundByItsStorageClassWhereThereIsOne) {
  std::set<std::string_view> classes;
  for (const DType dtype : AllDTypes()) {
    if (StorageClass(dtype).empty()) continue;
    EXPECT_EQ(DTypeFromStorageClass(StorageClass(dtype)), dtype) << Name(dtype);
    EXPECT_TRUE(classes.insert(StorageClass(dtype)).second) << StorageClass(dtype);
  }
}

TEST(DType, IsNotFoundByOtherWords) {
  for (const std::string_view word : {"", "float", "Float32", "float32 ", "FloatStorage", "uint4"}) {
    EXPECT_EQ(DTypeFromName(word), std::nullopt) << word;
  }
  for (const std::string_view word : {"", "UntypedStorage", "float32", "floatStorage"}) {
    EXPECT_EQ(DTypeFromStorageClass(word), std::nullopt) << word;
  }
}

TEST(DType, SwapsWholePartsOfAnItem) {
  for (const DType dtype : AllDTypes()) EXPECT_EQ(ItemBytes(dtype) % SwapUnit(dtype), 0u) << Name(dtype);
}

TEST(DType, KnowsFloatingPoint) {
  EXPECT_TRUE(IsFloatingPoint(DType::kBFloat16));
  EXPECT_TRUE(IsFloatingPoint(DType::kFloat8E5M2));
  EXPECT_FALSE(IsFloatingPoint(DType::kComplex64));  // as torch.is_floating_point
  EXPECT_FALSE(IsFloatingPoint(DType::kBool));
  EXPECT_FALSE(IsFloatingPoint(DType::kInt64));
}

}  // namespace
}  // namespace dcpctl

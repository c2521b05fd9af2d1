#include "ops/cast.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/result.h"

namespace dcpctl::ops {
namespace {

Catalog Made(const std::vector<DType>& types) {
  Catalog catalog;
  for (const DType type : types) catalog.AddTensor(Name(type), type, {}).requires_grad = true;
  catalog.AddObject("object");
  return catalog;
}

TEST(SetDType, CastsFloatingPointTensorsOfOtherTypes) {
  Catalog catalog = Made({DType::kFloat32, DType::kFloat64, DType::kBFloat16, DType::kInt64, DType::kBool,
                          DType::kComplex64, DType::kFloat8E4M3FN, DType::kFloat4E2M1FNx2});
  const CastTotals totals = SetDType(catalog, std::vector<bool>(9, true), DType::kBFloat16);
  EXPECT_EQ(totals.to, DType::kBFloat16);
  EXPECT_EQ(totals.cast, 3u);
  EXPECT_EQ(totals.same, 1u);
  EXPECT_EQ(totals.other, 4u);
  EXPECT_EQ(catalog.tensors[0].dtype, DType::kBFloat16);
  EXPECT_EQ(catalog.tensors[0].stored_dtype, DType::kFloat32);
  EXPECT_TRUE(catalog.tensors[0].requires_grad);
  EXPECT_FALSE(catalog.tensors[2].stored_dtype);
  EXPECT_EQ(catalog.tensors[3].dtype, DType::kInt64);
  EXPECT_FALSE(catalog.tensors[3].stored_dtype);
}

TEST(SetDType, LeavesAloneWhatIsNotSelected) {
  Catalog catalog = Made({DType::kFloat32, DType::kFloat32});
  EXPECT_EQ(SetDType(catalog, {true, false, true}, DType::kFloat16).cast, 1u);
  EXPECT_EQ(catalog.tensors[1].dtype, DType::kFloat32);
}

TEST(CheckCastOptions, TakesFloatingPointTypesAndDataThatIsWritten) {
  test::Value(CheckCastOptions({}));
  test::Value(CheckCastOptions({.data = DataPolicy::kCopy}));
  test::Value(CheckCastOptions({.dtype = DType::kFloat8E5M2}));
  for (const DType dtype : {DType::kInt8, DType::kComplex64, DType::kFloat4E2M1FNx2})
    EXPECT_EQ(test::ErrorOf(CheckCastOptions({.dtype = dtype})).kind(), ErrorKind::kUsage);
  for (const DataPolicy data : {DataPolicy::kCopy, DataPolicy::kLink, DataPolicy::kNone})
    EXPECT_EQ(test::ErrorOf(CheckCastOptions({.data = data, .dtype = DType::kFloat16})).kind(), ErrorKind::kUsage);
}

TEST(OpenMathFor, AsksForThePluginOnlyWhereItIsNeeded) {
  const RunOptions options{.plugins = "/nonexistent"};
  Plan plan;
  EXPECT_EQ(test::Value(OpenMathFor(plan, options)), nullptr);
  plan.needs.tensor_math = true;
  const Error error = test::ErrorOf(OpenMathFor(plan, options));
  EXPECT_EQ(error.kind(), ErrorKind::kUnsupported);
  EXPECT_NE(error.ToString().find("libtorch-dev"), std::string::npos) << error.ToString();
}

}  // namespace
}  // namespace dcpctl::ops

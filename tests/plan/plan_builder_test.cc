#include "plan/plan_builder.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "support/result.h"
#include "tests/plan/sample_catalog.h"

namespace dcpctl {
namespace {

using test::CatalogBuilder;

Dims Copy(DimsView dims) { return {dims.begin(), dims.end()}; }

TEST(PlanBuilder, TakesFilesOverAsTheSurveySawThem) {
  auto builder = test::TwoRowShards();
  const Plan plan = PlanBuilder(builder.catalog()).Finish();
  ASSERT_EQ(plan.files.size(), 2u);
  EXPECT_EQ(PathOf(plan.files[1]), "/ckpt/__1_0.distcp");
  EXPECT_EQ(plan.files[1].bytes, 1000u);
  EXPECT_EQ(plan.files[1].mtime_ns, 1000);
}

TEST(PlanBuilder, MakesAPieceOfEachChunkSortedByPosition) {
  auto builder = test::TwoRowShards();
  PlanBuilder planner(builder.catalog());
  const uint32_t output = planner.AddOutput("out.pt", 96);
  EXPECT_EQ(planner.AddTensor(output, 0, builder.catalog().tensors[0]), 0u);
  const Plan plan = std::move(planner).Finish();

  ASSERT_EQ(plan.regions.size(), 1u);
  const Region& region = plan.regions[0];
  EXPECT_EQ(plan.KeyOf(region), "x");
  EXPECT_EQ(region.bytes, 96u);
  EXPECT_EQ(region.item_bytes, 4u);
  EXPECT_EQ(region.swap_unit, 4u);
  EXPECT_EQ(Copy(plan.ShapeOf(region)), (Dims{6, 4}));
  ASSERT_EQ(region.piece_count, 2u);
  EXPECT_EQ(Copy(plan.PositionOf(region, plan.pieces[0])), (Dims{0, 0}));
  EXPECT_EQ(Copy(plan.SizeOf(region, plan.pieces[0])), (Dims{2, 4}));
  EXPECT_EQ(Copy(plan.PositionOf(region, plan.pieces[1])), (Dims{2, 0}));
  EXPECT_EQ(Copy(plan.SourcePositionOf(region, plan.pieces[1])), (Dims{0, 0}));
  const PlanSource& source = plan.sources[plan.pieces[1].source];
  EXPECT_EQ(source.file, 1u);
  EXPECT_EQ(source.stored.offset, 64u);
  EXPECT_EQ(source.stored.crc, 7u);
  EXPECT_TRUE(source.stored.crc_known);
  EXPECT_EQ(Copy(plan.StridesOf(region, source)), (Dims{4, 1}));
  EXPECT_TRUE(CheckPlan(plan));
}

TEST(PlanBuilder, CastsWhatIsStoredInAnotherType) {
  auto builder = test::TwoRowShards();
  Tensor& tensor = builder.catalog().tensors[0];
  tensor.stored_dtype = DType::kFloat32;
  for (const bool cast : {false, true}) {
    if (cast) tensor.dtype = DType::kBFloat16;
    PlanBuilder planner(builder.catalog());
    planner.AddTensor(planner.AddOutput("out.pt", cast ? 48 : 96), 0, tensor);
    const Plan plan = std::move(planner).Finish();
    const Region& region = plan.regions[0];
    EXPECT_EQ(plan.needs.tensor_math, cast);
    EXPECT_EQ(Summarize(plan).needs.tensor_math, cast);
    ASSERT_EQ(region.cast.has_value(), cast);
    EXPECT_EQ(region.bytes, cast ? 48u : 96u);
    EXPECT_EQ(region.item_bytes, cast ? 2u : 4u);
    EXPECT_EQ(region.swap_unit, 4u);
    test::Value(CheckPlan(plan));
    if (!cast) continue;
    EXPECT_EQ(region.cast->from, DType::kFloat32);
    EXPECT_EQ(region.cast->to, DType::kBFloat16);
  }
}

TEST(PlanBuilder, KeepsStridesByteOrderAndSwapUnits) {
  CatalogBuilder builder;
  builder.AddFile("f", 1000);
  builder.AddTensor("c", DType::kComplex64, {2, 3});
  builder.AddChunk({{0, 0}, {2, 3}}, 0, {.offset = 8, .bytes = 80, .first_element = 2, .big_endian = true}, {1, 2});
  PlanBuilder planner(builder.catalog());
  planner.AddOutput("out.pt", 48);
  planner.AddTensor(0, 0, builder.catalog().tensors[0]);
  const Plan plan = std::move(planner).Finish();
  EXPECT_EQ(plan.regions[0].item_bytes, 8u);
  EXPECT_EQ(plan.regions[0].swap_unit, 4u);
  EXPECT_EQ(Copy(plan.StridesOf(plan.regions[0], plan.sources[0])), (Dims{1, 2}));
  EXPECT_TRUE(plan.sources[0].stored.big_endian);
  EXPECT_EQ(plan.sources[0].stored.first_element, 2u);
  EXPECT_TRUE(CheckPlan(plan));
}

TEST(PlanBuilder, LeavesEmptyChunksOut) {
  CatalogBuilder builder;
  builder.AddFile("f", 1000);
  builder.AddTensor("x", DType::kInt8, {5});
  builder.AddChunk({{0}, {5}}, 0, {.offset = 0, .bytes = 5});
  builder.AddChunk({{5}, {0}}, 0, {.offset = 0, .bytes = 0});
  builder.AddTensor("none", DType::kInt8, {0, 7});
  builder.AddChunk({{0, 0}, {0, 7}}, 0, {});
  PlanBuilder planner(builder.catalog());
  planner.AddOutput("out.pt", 5);
  planner.AddTensor(0, 0, builder.catalog().tensors[0]);
  EXPECT_EQ(planner.AddTensor(0, 5, builder.catalog().tensors[1]), 1u);
  const Plan plan = std::move(planner).Finish();
  EXPECT_EQ(plan.pieces.size(), 1u);
  EXPECT_EQ(plan.regions[1].bytes, 0u);
  EXPECT_EQ(plan.regions[1].piece_count, 0u);
  EXPECT_TRUE(CheckPlan(plan));
}

// Rows 0-7, which reach far, then single rows 8 and 9; boxes are cut from both kinds.
TEST(PlanBuilder, CutsBoxesFromTheChunksThatMeetThem) {
  CatalogBuilder builder;
  builder.AddFile("f", 1000);
  builder.AddTensor("x", DType::kInt8, {10, 6});
  builder.AddChunk({{9, 0}, {1, 6}}, 0, {.offset = 200, .bytes = 6});
  builder.AddChunk({{8, 0}, {1, 6}}, 0, {.offset = 100, .bytes = 6});
  builder.AddChunk({{0, 0}, {8, 6}}, 0, {.offset = 0, .bytes = 48});
  PlanBuilder planner(builder.catalog());
  const Tensor& tensor = builder.catalog().tensors[0];
  planner.AddOutput("a", 9);
  planner.AddOutput("b", 4);
  planner.AddBox(0, 0, tensor, Box{{6, 2}, {3, 3}}.view());
  planner.AddBox(1, 0, tensor, Box{{5, 1}, {1, 4}}.view());
  const Plan plan = std::move(planner).Finish();
  test::Value(CheckPlan(plan));

  const Region& first = plan.regions[0];
  EXPECT_EQ(Copy(plan.ShapeOf(first)), (Dims{3, 3}));
  ASSERT_EQ(first.piece_count, 2u);
  EXPECT_EQ(plan.sources[plan.pieces[0].source].stored.offset, 0u);
  EXPECT_EQ(Copy(plan.PositionOf(first, plan.pieces[0])), (Dims{0, 0}));
  EXPECT_EQ(Copy(plan.SourcePositionOf(first, plan.pieces[0])), (Dims{6, 2}));
  EXPECT_EQ(Copy(plan.SizeOf(first, plan.pieces[0])), (Dims{2, 3}));
  EXPECT_EQ(plan.sources[plan.pieces[1].source].stored.offset, 100u);
  EXPECT_EQ(Copy(plan.PositionOf(first, plan.pieces[1])), (Dims{2, 0}));
  EXPECT_EQ(Copy(plan.SourcePositionOf(first, plan.pieces[1])), (Dims{0, 2}));

  ASSERT_EQ(plan.regions[1].piece_count, 1u);
  EXPECT_EQ(plan.pieces[2].source, plan.pieces[0].source);
  EXPECT_EQ(plan.sources.size(), 2u);
}

TEST(PlanBuilder, TakesA0dTensor) {
  CatalogBuilder builder;
  builder.AddFile("f", 1000);
  builder.AddTensor("step", DType::kFloat32, {});
  builder.AddChunk({}, 0, {.offset = 16, .bytes = 4});
  PlanBuilder planner(builder.catalog());
  planner.AddOutput("out.pt", 4);
  planner.AddTensor(0, 0, builder.catalog().tensors[0]);
  const Plan plan = std::move(planner).Finish();
  EXPECT_EQ(plan.regions[0].bytes, 4u);
  EXPECT_EQ(plan.regions[0].piece_count, 1u);
  EXPECT_TRUE(CheckPlan(plan));
}

TEST(PlanBuilder, CopiesStoragesOfObjectsAsBytes) {
  CatalogBuilder builder;
  builder.AddFile("f", 1000);
  const Object object{.key = "rng", .offset = 100, .length = 300, .file = 0};
  PlanBuilder planner(builder.catalog());
  planner.AddOutput("out.pt", 56);
  planner.AddStorage(0, 0, object, {.key = "0", .stored = {.offset = 200, .bytes = 56, .big_endian = true}});
  planner.AddStorage(0, 56, object, {.key = "1", .stored = {.offset = 256, .bytes = 0}});
  const Plan plan = std::move(planner).Finish();
  EXPECT_EQ(plan.regions[0].swap_unit, 1u);
  EXPECT_EQ(Copy(plan.ShapeOf(plan.regions[0])), Dims{56});
  EXPECT_EQ(plan.sources[0].stored.offset, 200u);
  EXPECT_EQ(plan.regions[1].piece_count, 0u);
  EXPECT_TRUE(CheckPlan(plan));
}

TEST(PlanBuilder, TurnsBigEndianItemsOfAnObjectAround) {
  CatalogBuilder builder;
  builder.AddFile("f", 1000);
  const Object object{.key = "sparse", .path = {}};
  PlanBuilder planner(builder.catalog());
  planner.AddOutput("out.pt", 56);
  planner.AddStorage(0, 0, object,
                     {.key = "0", .stored = {.offset = 200, .bytes = 56, .big_endian = true}, .swap_unit = 8});
  const Plan plan = std::move(planner).Finish();
  EXPECT_EQ(plan.regions[0].swap_unit, 8u);
  EXPECT_EQ(plan.regions[0].item_bytes, 8u);
  EXPECT_EQ(Copy(plan.ShapeOf(plan.regions[0])), Dims{7});
  EXPECT_TRUE(CheckPlan(plan));
}

TEST(PlanBuilder, DecodesTheRecordOfAnEncodedObject) {
  CatalogBuilder builder;
  builder.AddFile("f", 1000);
  const Object object{.key = "rng", .path = {}};
  PlanBuilder planner(builder.catalog());
  planner.AddOutput("out.pt", 5000);
  planner.AddStorage(0, 0, object,
                     {.key = "0",
                      .stored = {.offset = 2000, .bytes = 5000, .codec = Codec::kZstd},
                      .file = 0,
                      .record_offset = 100,
                      .record_length = 300});
  const Plan plan = std::move(planner).Finish();
  EXPECT_EQ(plan.sources[0].stored.codec, Codec::kZstd);
  EXPECT_EQ(plan.sources[0].record_offset, 100u);
  EXPECT_EQ(plan.sources[0].record_length, 300u);
  EXPECT_TRUE(CheckPlan(plan));
}

}  // namespace
}  // namespace dcpctl

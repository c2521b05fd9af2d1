#include "plan/wire.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "support/result.h"

namespace dcpctl {
namespace {

// Something in every field.
Plan FullPlan() {
  Plan plan;
  plan.files.push_back({.root = "/ckpt", .relative = "__0_0.distcp", .bytes = 100, .mtime_ns = -5});
  plan.copies.push_back({.file = 0, .path = "copy", .link = true});
  plan.outputs.push_back({.path = "__0_0.distcp", .bytes = uint64_t{1} << 40});
  plan.literals.push_back({.output = 0, .text = 1, .offset = 7, .first_region = 2});
  plan.texts.push_back({.bytes = std::string("a\0b", 3), .holes = {{.pos = 1, .region = 2}}});
  plan.keys = {"v", "w"};
  plan.gaps.push_back({.output = 0, .offset = 3, .bytes = 4});
  plan.regions.push_back({.output = 0,
                          .offset = 9,
                          .bytes = 8,
                          .item_bytes = 4,
                          .swap_unit = 2,
                          .rank = 1,
                          .shape = 3,
                          .first_piece = 5,
                          .piece_count = 6,
                          .cast = Cast{.from = DType::kFloat64, .to = DType::kBFloat16},
                          .key = 1});
  plan.pieces.push_back({.source = 1, .dims = 2});
  plan.sources.push_back({.file = 0,
                          .stored = {.offset = 1,
                                     .bytes = 2,
                                     .encoded_bytes = 3,
                                     .first_element = 4,
                                     .crc = 0xfedcba98,
                                     .crc_known = true,
                                     .big_endian = true,
                                     .codec = Codec::kZstd},
                          .record_offset = 5,
                          .record_length = 6,
                          .strides = 7});
  plan.dims = {1, 2, 3};
  plan.needs = {.tensor_math = true, .mpi = false, .cuda = true};
  return plan;
}

TEST(PlanWire, CarriesEveryField) {
  const std::string bytes = EncodePlan(FullPlan());
  const Plan plan = test::Value(DecodePlan(bytes));
  EXPECT_EQ(EncodePlan(plan), bytes);
  EXPECT_EQ(plan.files[0].mtime_ns, -5);
  EXPECT_EQ(plan.outputs[0].bytes, uint64_t{1} << 40);
  EXPECT_EQ(plan.literals[0].first_region, 2U);
  EXPECT_EQ(plan.texts[0].bytes, std::string("a\0b", 3));
  EXPECT_EQ(plan.texts[0].holes[0].region, 2U);
  EXPECT_EQ(plan.KeyOf(plan.regions[0]), "w");
  EXPECT_EQ(plan.regions[0].cast->to, DType::kBFloat16);
  EXPECT_EQ(plan.sources[0].stored.codec, Codec::kZstd);
  EXPECT_TRUE(plan.needs.cuda);
}

TEST(PlanWire, TellsPlansApart) {
  const std::string bytes = EncodePlan(FullPlan());
  const auto changes = [&](const std::function<void(Plan&)>& change) {
    Plan other = FullPlan();
    change(other);
    EXPECT_NE(EncodePlan(other), bytes);
  };
  changes([](Plan& p) { p.files[0].relative += "x"; });
  changes([](Plan& p) { p.copies[0].link = false; });
  changes([](Plan& p) { ++p.outputs[0].bytes; });
  changes([](Plan& p) { ++p.literals[0].text; });
  changes([](Plan& p) { p.texts[0].bytes[2] = 'c'; });
  changes([](Plan& p) { p.texts[0].holes.clear(); });
  changes([](Plan& p) { p.keys[1] += "x"; });
  changes([](Plan& p) { ++p.gaps[0].offset; });
  changes([](Plan& p) { p.regions[0].cast.reset(); });
  changes([](Plan& p) { ++p.pieces[0].dims; });
  changes([](Plan& p) { p.sources[0].stored.crc_known = false; });
  changes([](Plan& p) { ++p.dims[1]; });
  changes([](Plan& p) { p.needs.mpi = true; });
}

TEST(PlanWire, RejectsWhatIsCutOff) {
  const std::string bytes = EncodePlan(FullPlan());
  for (size_t length = 0; length < bytes.size(); ++length) EXPECT_FALSE(DecodePlan(bytes.substr(0, length))) << length;
}

TEST(PlanWire, CarriesAnEmptyPlan) { EXPECT_TRUE(test::Value(DecodePlan(EncodePlan({}))).outputs.empty()); }

}  // namespace
}  // namespace dcpctl

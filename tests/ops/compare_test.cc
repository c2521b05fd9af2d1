#include "ops/compare.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "dcp/sample_checkpoint.h"
#include "ops/verify.h"
#include "support/memory_file_system.h"
#include "support/result.h"
#include "torch/sample_archive.h"

namespace dcpctl::ops {
namespace {

using dcp::SampleCheckpoint;
using test::ErrorOf;
using test::MemoryFileSystem;
using test::Value;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class CompareSamples : public testing::Test {
 protected:
  CompareReport Run(const CompareOptions& options = {}) { return Value(Compare(files_, "/a", "/b", options)); }
  Error Fails(const CompareOptions& options = {}) { return ErrorOf(Compare(files_, "/a", "/b", options)); }
  void Put(SampleCheckpoint& a, SampleCheckpoint& b) {
    a.PutOn(files_, "/a");
    b.PutOn(files_, "/b");
  }
  // "what key", in the report's order.
  static std::vector<std::string> Texts(const CompareReport& report) {
    std::vector<std::string> texts;
    for (const std::string& key : report.only_in_a) texts.push_back("a " + key);
    for (const std::string& key : report.only_in_b) texts.push_back("b " + key);
    for (const Difference& d : report.differ) texts.push_back(std::string(Name(d.what)) + " " + d.key);
    return texts;
  }
  MemoryFileSystem files_;
};

TEST_F(CompareSamples, ChunksAndFilesMakeNoDifference) {
  SampleCheckpoint a;
  SampleCheckpoint b;
  a.AddTensor("w", {"w"}, {4, 6}, 0, {{.offsets = {0, 0}, .sizes = {4, 2}}, {.offsets = {0, 2}, .sizes = {4, 4}}});
  b.AddTensor("w", {"w"}, {4, 6}, 0,
              {{.offsets = {3, 0}, .sizes = {1, 6}, .file = "__1_0.distcp", .zstd = true},
               {.offsets = {0, 0}, .sizes = {3, 6}}});
  a.AddInt("step", {"step"}, 3);
  b.AddInt("step", {"step"}, 3);
  Put(a, b);
  const CompareReport report = Run();
  EXPECT_TRUE(report.equal);
  EXPECT_THAT(Texts(report), IsEmpty());
  EXPECT_EQ(report.totals.tensors, 1U);
  EXPECT_EQ(report.totals.objects, 1U);
  EXPECT_EQ(report.totals.bytes, 96U);
}

TEST_F(CompareSamples, EveryDifferenceIsNamed) {
  SampleCheckpoint a;
  SampleCheckpoint b;
  a.AddTensor("gone", {"gone"}, {1});
  b.AddTensor("new", {"new"}, {1});
  a.AddTensor("shape", {"shape"}, {2, 3});
  b.AddTensor("shape", {"shape"}, {3, 2});
  a.AddTensor("kind", {"kind"}, {1});
  b.AddInt("kind", {"kind"}, 1);
  a.AddInt("object", {"object"}, 1);
  b.AddInt("object", {"object"}, 2);
  a.AddTensor("values", {"values"}, {2, 3}, 0);
  b.AddTensor("values", {"values"}, {2, 3}, 0.5);
  a.AddTensor("same", {"same"}, {2, 3});
  b.AddTensor("same", {"same"}, {2, 3});
  a.AddRaw("dtype", "float32", {2}, dcp::TensorRecord({2}, std::string(8, '\0')));
  b.AddRaw("dtype", "int32", {2}, dcp::TensorRecord({2}, std::string(8, '\0'), "IntStorage"));
  Put(a, b);
  const CompareReport report = Run();
  EXPECT_FALSE(report.equal);
  EXPECT_THAT(Texts(report), ElementsAre("a gone", "b new", "dtype dtype", "kind kind", "object object", "shape shape",
                                         "values values"));
  const Difference& dtype = report.differ[0];
  EXPECT_EQ(dtype.a + " " + dtype.b, "float32 int32");
  EXPECT_EQ(report.differ[1].a + " " + report.differ[1].b, "tensor object");
  EXPECT_EQ(report.differ[2].a + " " + report.differ[2].b, "1 2");
  EXPECT_EQ(report.differ[3].a + " " + report.differ[3].b, "[2, 3] [3, 2]");
  const Difference& values = report.differ[4];
  EXPECT_EQ(values.first_index, (Dims{0, 0}));
  EXPECT_EQ(values.differing, 6U);
  EXPECT_EQ(values.elements, 6U);
  EXPECT_EQ(values.max_abs_diff, (std::variant<uint64_t, double>(0.5)));
}

// One element in the last tile of a large tensor and one in the middle, in other cuts.
TEST_F(CompareSamples, TheFirstDifferenceIsTheSameForAnyThreadsAndMemory) {
  constexpr int64_t kRows = 3000;
  constexpr int64_t kColumns = 400;
  std::string bytes = dcp::Floats(kRows * kColumns);
  for (const size_t element : {size_t{700'123}, size_t{1'199'999}}) bytes[4 * element + 3] ^= 1;
  SampleCheckpoint a;
  SampleCheckpoint b;
  a.AddTensor("w", {"w"}, {kRows, kColumns}, 0,
              {{.offsets = {0, 0}, .sizes = {kRows, 100}}, {.offsets = {0, 100}, .sizes = {kRows, 300}}});
  b.AddRaw("w", "float32", {kRows, kColumns}, dcp::TensorRecord({kRows, kColumns}, bytes));
  Put(a, b);
  for (const unsigned jobs : {1U, 3U}) {
    for (const uint64_t memory : {uint64_t{4} << 20, uint64_t{64} << 20}) {
      CompareOptions options;
      options.run.jobs = jobs;
      options.run.memory_bytes = memory;
      const CompareReport report = Run(options);
      ASSERT_THAT(Texts(report), ElementsAre("values w"));
      EXPECT_EQ(report.differ[0].first_index, (Dims{1750, 123}));
      EXPECT_EQ(report.differ[0].differing, 2U);
    }
  }
}

TEST_F(CompareSamples, ToleranceIsForFloatingPointNumbers) {
  SampleCheckpoint a;
  SampleCheckpoint b;
  a.AddTensor("near", {"near"}, {2, 3}, 8);
  b.AddTensor("near", {"near"}, {2, 3}, 8.5);
  a.AddTensor("same", {"same"}, {2, 3}, 8);
  b.AddTensor("same", {"same"}, {2, 3}, 8);
  // 0.5, 1 + 0.5, ...: the first two are further away than an eighth of them and a quarter.
  a.AddTensor("partly", {"partly"}, {2, 3}, 0);
  b.AddTensor("partly", {"partly"}, {2, 3}, 0.5);
  a.AddInt("step", {"step"}, 100);
  b.AddInt("step", {"step"}, 101);
  Put(a, b);
  CompareReport report = Run({.tolerance = Tolerance{.relative = 0.125, .absolute = 0.25}});
  EXPECT_FALSE(report.equal);
  EXPECT_THAT(Texts(report), ElementsAre("values partly", "object step"));
  EXPECT_EQ(report.differ[0].differing, 2U);
  EXPECT_EQ(report.totals.close, 1U);
  report = Run({.selection = {.select = {"near", "same"}}, .tolerance = Tolerance{.absolute = 0.5}});
  EXPECT_TRUE(report.equal);
  EXPECT_EQ(report.totals.close, 1U);
  report = Run({.selection = {.select = {"near"}}, .tolerance = Tolerance{.absolute = 0.49}});
  EXPECT_FALSE(report.equal);
  EXPECT_EQ(report.totals.close, 0U);
  for (const double bad : {-1.0, HUGE_VAL, std::nan("")}) {
    EXPECT_EQ(Fails({.tolerance = Tolerance{.relative = bad}}).kind(), ErrorKind::kUsage);
    EXPECT_EQ(Fails({.tolerance = Tolerance{.absolute = bad}}).kind(), ErrorKind::kUsage);
  }
}

TEST_F(CompareSamples, FormatsMakeNoDifference) {
  SampleCheckpoint a;
  a.AddTensor("model.w", {"model", "w"}, {4});
  a.AddInt("list.0", {"list", uint64_t{0}}, 7);  // a list position of PyTorch up to 2.3
  a.AddObject("plain", {"plain"}, [](pickle::Document& d) {
    const auto list = d.List();
    d.Append(list, d.Int(1));
    return list;
  });
  a.PutOn(files_, "/a");
  pickle::Document document;
  const auto model = document.Dict();
  document.SetItem(model, document.String("w"),
                   torch::MakeSample(document, {.items = 4, .shape = {4}, .strides = {1}}));
  document.SetItem(model, document.String("empty"), document.Dict());
  const auto root = document.Dict();
  document.SetItem(root, document.String("model"), model);
  const auto plain = document.List();
  document.Append(plain, document.Int(1));
  document.SetItem(root, document.String("plain"), plain);
  files_.Put("/b", torch::SaveTorch(root, {dcp::Floats(4)}));
  EXPECT_THAT(Texts(Run()), ElementsAre("a list.0"));
}

// PyTorch 1.13 makes one entry of each value at the top.
TEST_F(CompareSamples, ContainersThatWereKeptWholeAreTakenApart) {
  SampleCheckpoint a;
  SampleCheckpoint b;
  a.AddObject("optim", {"optim"},
              [](pickle::Document& d) {
                const auto dict = d.Dict();
                d.SetItem(dict, d.String("lr"), d.Float(0.5));
                d.SetItem(dict, d.String("none"), d.Dict());
                d.SetItem(dict, d.String("m"), torch::MakeSample(d, {.items = 3, .shape = {3}, .strides = {1}}));
                return dict;
              },
              {dcp::Floats(3)});
  b.AddTensor("optim.m", {"optim", "m"}, {3});
  b.AddObject("optim.lr", {"optim", "lr"}, [](pickle::Document& d) { return d.Float(0.5); });
  Put(a, b);
  EXPECT_THAT(Texts(Run()), IsEmpty());
  CompareOptions options;
  options.selection.select = {"optim.m"};
  const CompareReport report = Run(options);
  EXPECT_TRUE(report.equal);
  EXPECT_EQ(report.totals.tensors, 1U);
  EXPECT_EQ(report.totals.objects, 0U);
}

TEST_F(CompareSamples, RenamesAreForTheFirstAndSelectionsForBoth) {
  SampleCheckpoint a;
  SampleCheckpoint b;
  a.AddTensor("model.w", {"model", "w"}, {2});
  a.AddTensor("model.x", {"model", "x"}, {2});
  b.AddTensor("w", {"w"}, {2});
  b.AddTensor("y", {"y"}, {2});
  Put(a, b);
  CompareOptions options;
  options.selection.strip_prefix = "model";
  EXPECT_THAT(Texts(Run(options)), ElementsAre("a x", "b y"));
  options.selection.exclude = {"x", "y"};
  EXPECT_TRUE(Run(options).equal);
  options.selection.exclude = {"nothing"};
  EXPECT_THAT(Fails(options).ToString(), HasSubstr("--exclude \"nothing\" matches no key"));
  options.selection.exclude = {"x", "y", "w"};
  EXPECT_EQ(Fails(options).kind(), ErrorKind::kNotFound);
  options.selection.exclude = {};
  options.selection.strip_prefix = "nodel";
  EXPECT_EQ(Fails(options).kind(), ErrorKind::kNotFound);
}

// Nobody can say what would be there.
TEST_F(CompareSamples, DamageIsAnErrorWhereItIsAskedFor) {
  SampleCheckpoint a;
  SampleCheckpoint b;
  for (SampleCheckpoint* sample : {&a, &b}) {
    sample->AddTensor("w", {"w"}, {2});
    sample->AddTensor("hole", {"hole"}, {4}, 0,
                      sample == &a ? std::vector<dcp::SamplePart>{{.offsets = {0}, .sizes = {3}}}
                                   : std::vector<dcp::SamplePart>{{.offsets = {0}, .sizes = {4}}});
  }
  Put(a, b);
  const Error error = Fails();
  EXPECT_EQ(error.kind(), ErrorKind::kCorrupt);
  EXPECT_THAT(error.ToString(), HasSubstr("\"hole\""));
  CompareOptions options;
  options.selection.select = {"w"};
  EXPECT_TRUE(Run(options).equal);
}

// Storages inside objects: other keys, another place, and in b of the other byte order.
TEST_F(CompareSamples, StoragesOfObjectsAreComparedByTheirBytes) {
  const auto pair = [](pickle::Document& d) {
    const auto tensor = [&](const char* key) {
      return torch::MakeSample(d, {.key = key, .items = 2, .shape = {2}, .strides = {1}});
    };
    return d.Tuple({tensor("0"), tensor("1")});
  };
  for (const float last : {5.0F, 6.0F}) {
    MemoryFileSystem fresh;
    SampleCheckpoint a;
    SampleCheckpoint b;
    a.AddObject("pair", {"pair"}, pair, {dcp::Floats(2), dcp::Floats(2, 5)});
    b.AddInt("before", {"before"}, 1);
    a.AddInt("before", {"before"}, 1);
    b.AddObject("pair", {"pair"}, pair, {dcp::Floats(2), dcp::Floats(2, last)});
    a.PutOn(fresh, "/a");
    b.PutOn(fresh, "/b");
    EXPECT_EQ(Value(Compare(fresh, "/a", "/b", {})).equal, last == 5);
  }
}

// As findings of verify.
TEST_F(CompareSamples, VerifyAgainstReportsThem) {
  SampleCheckpoint a;
  SampleCheckpoint b;
  a.AddTensor("w", {"w"}, {2});
  b.AddTensor("w", {"w"}, {2}, 9);
  a.AddTensor("mine", {"mine"}, {2});
  b.AddTensor("other", {"other"}, {2});
  Put(a, b);
  VerifyOptions options{.against = "/b", .settle_ms = 0};
  VerifyReport report = Value(Verify(files_, "/a", options));
  EXPECT_FALSE(report.ok);
  std::vector<std::string> texts;
  for (const Finding& f : report.findings) texts.push_back(f.id + " " + f.key);
  EXPECT_THAT(texts, ElementsAre("compare.extra mine", "compare.missing other", "compare.values w"));
  options.against = "/a";
  report = Value(Verify(files_, "/a", options));
  EXPECT_TRUE(report.ok);
  ASSERT_EQ(report.findings.size(), 1U);
  EXPECT_EQ(report.findings[0].id, "compare.equal");
  files_.Put("/page", "<html>");
  options.against = "/page";
  EXPECT_EQ(ErrorOf(Verify(files_, "/a", options)).kind(), ErrorKind::kUnsupported);
  options.against = "/none";
  EXPECT_EQ(ErrorOf(Verify(files_, "/a", options)).kind(), ErrorKind::kNotFound);
}

}  // namespace
}  // namespace dcpctl::ops

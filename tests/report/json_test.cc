#include "report/json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "report/value.h"
#include "tests/report/catalogs.h"

namespace dcpctl::report {
namespace {

using nlohmann::json;

json InspectJson(const InspectReport& report) {
  std::ostringstream out;
  WriteInspectJson(report, out);
  return json::parse(out.str());
}

TEST(Json, InspectHasTheSchemasFields) {
  const json document = InspectJson(SmallReport());
  EXPECT_EQ(document["schema"], "dcpctl.inspect/1");
  EXPECT_EQ(document["path"], "ckpt");
  EXPECT_EQ(document["format"], "dcp");
  EXPECT_EQ(document["format_detail"], json({{"version", "1.0.0"}, {"save_id", "5c"}}));
  EXPECT_EQ(document["totals"], json({{"tensors", 2},
                                      {"objects", 2},
                                      {"chunks", 3},
                                      {"elements", 16},
                                      {"bytes", 68},
                                      {"files", 5},
                                      {"file_bytes", 5324}}));
  EXPECT_EQ(document["entries"][0],
            json::parse(R"({"key": "model.net.weight", "path": ["model", "net.weight"], "kind": "tensor",
      "dtype": "float32", "shape": [5, 3], "bytes": 60, "requires_grad": false, "chunks": [
        {"offsets": [0, 0], "sizes": [3, 3], "file": "__0_0.distcp", "offset": 862, "length": 1000},
        {"offsets": [3, 0], "sizes": [2, 3], "file": "__1_0.distcp", "offset": 0, "length": 1000}]})"));
  EXPECT_EQ(document["entries"][1]["path"], json::parse(R"(["optim", "steps", 0])"));
  EXPECT_EQ(document["entries"][1]["shape"], json::array());
  EXPECT_EQ(document["entries"][2]["kind"], "object");
  EXPECT_FALSE(document["entries"][2].contains("value"));
  EXPECT_EQ(
      document["files"][2],
      json::parse(R"({"path": "__1_1.distcp", "bytes": 0, "rank": 1, "bucket": 1, "entries": 0, "referenced": true})"));
  EXPECT_EQ(document["findings"], json::array());
}

TEST(Json, InspectListsForeignNames) {  // C75
  InspectReport report = SmallReport();
  report.objects_read = 2;
  report.foreign_names = {{.name = "acme.State", .entries = 2}, {.name = "os.system", .entries = 1, .refused = true}};
  const json document = InspectJson(report);
  EXPECT_EQ(document["objects_read"], 2);
  EXPECT_EQ(document["foreign_names"], json::parse(R"([{"name": "acme.State", "entries": 2},
      {"name": "os.system", "entries": 1, "refused": true}])"));
}

TEST(Json, IntegersAreExact) {
  InspectReport report = SmallReport();
  report.totals.elements = UINT64_MAX;
  EXPECT_EQ(InspectJson(report)["totals"]["elements"].get<uint64_t>(), UINT64_MAX);
}

TEST(Json, KeysThatAreNotUtf8DoNotFail) {  // C110
  InspectReport report = SmallReport();
  report.catalog.tensors[0].key = "a\xff\"b\n";
  EXPECT_EQ(InspectJson(report)["entries"][0]["key"], "a\xef\xbf\xbd\"b\n");
}

TEST(Json, OneEntryComesAloneWithItsValue) {
  InspectReport report = SmallReport();
  report.entry = report.catalog.entries[2];
  SetValue(report.catalog.objects[0], [](pickle::Document& document) {
    const pickle::Value dict = document.Dict();
    document.SetItem(dict, document.Int(3), document.Tuple({document.Float(0.5), document.None()}));
    document.SetItem(dict, document.String("inf"), document.Float(HUGE_VAL));
    return dict;
  });
  const json entries = InspectJson(report)["entries"];
  ASSERT_EQ(entries.size(), 1);
  EXPECT_EQ(entries[0]["type"], "dict");
  EXPECT_EQ(entries[0]["value"], json::parse(R"({"3": [0.5, null], "inf": "inf"})"));
}

TEST(Json, CyclesEnd) {
  pickle::Document document;
  const pickle::Value list = document.List();
  document.Append(list, list);
  EXPECT_GT(ValueJson(list).dump().size(), 100);
}

TEST(Json, FindingsKeepWhatTheyHave) {
  InspectReport report = SmallReport();
  report.catalog.findings = {{.id = "dcp.file-short",
                              .severity = Severity::kError,
                              .file = "__0_0.distcp",
                              .offset = 862,
                              .key = "w",
                              .message = "short"},
                             {.id = "dcp.note", .severity = Severity::kNote, .message = "n"}};
  EXPECT_EQ(
      InspectJson(report)["findings"],
      json::parse(
          R"([{"id": "dcp.file-short", "severity": "error", "file": "__0_0.distcp", "offset": 862, "key": "w", "message": "short"},
                            {"id": "dcp.note", "severity": "note", "message": "n"}])"));
}

TEST(Json, PlanHasTheSchemasFields) {
  ConvertReport report;
  report.plan.outputs = {{.path = "out.pt", .bytes = 5000}};
  report.plan.bytes_read = 4000;
  report.plan.bytes_written = 5000;
  report.plan.steps = 7;
  std::ostringstream out;
  WritePlanJson(report, out);
  EXPECT_EQ(out.str(),
            "{\n"
            "  \"schema\": \"dcpctl.plan/1\",\n"
            "  \"outputs\": [\n"
            "    {\"path\":\"out.pt\",\"bytes\":5000}\n"
            "  ],\n"
            "  \"bytes_read\": 4000,\n"
            "  \"bytes_written\": 5000,\n"
            "  \"bytes_cloned\": 0,\n"
            "  \"steps\": 7,\n"
            "  \"needs\": {\"tensor_math\":false,\"mpi\":false,\"cuda\":false},\n"
            "  \"findings\": []\n"
            "}\n");
}

TEST(Json, PlanOfALayoutHasItsRanks) {
  std::ostringstream out;
  ConvertReport report;
  report.ranks = {{.bytes = 300, .pieces = 2}, {.bytes = 100, .pieces = 1}};
  WritePlanJson(report, out);
  const json document = json::parse(out.str());
  EXPECT_EQ(document["imbalance"], 1.5);
  EXPECT_EQ(document["ranks"],
            json::parse(R"([{"rank": 0, "bytes": 300, "pieces": 2}, {"rank": 1, "bytes": 100, "pieces": 1}])"));
}

TEST(Json, PlanOfACastSaysWhatItNeeds) {
  ConvertReport report;
  report.plan.needs.tensor_math = true;
  report.cast = CastTotals{.to = DType::kBFloat16, .cast = 12, .same = 1, .other = 2};
  std::ostringstream out;
  WritePlanJson(report, out);
  const json document = json::parse(out.str());
  EXPECT_EQ(document["needs"]["tensor_math"], true);
  EXPECT_EQ(document["cast"], json::parse(R"({"dtype": "bfloat16", "tensors": 12, "same": 1, "other": 2})"));
}

TEST(Json, ConvertSaysWhatWasWritten) {
  ConvertReport report;
  report.tensors = 3;
  report.tensor_bytes = 4000;
  report.plan.outputs = {{.path = "out.pt", .bytes = 5000}};
  std::ostringstream out;
  WriteConvertJson(report, "ckpt", "out.pt", out);
  const json document = json::parse(out.str());
  EXPECT_EQ(document["schema"], "dcpctl.convert/1");
  EXPECT_EQ(document["source"], "ckpt");
  EXPECT_EQ(document["target"], "out.pt");
  EXPECT_EQ(document["tensors"], 3);
  EXPECT_EQ(document["bytes"], 4000);
  EXPECT_EQ(document["outputs"][0]["bytes"], 5000);
}

}  // namespace
}  // namespace dcpctl::report

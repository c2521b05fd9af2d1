#include "report/json.h"

#include <cmath>
#include <type_traits>

#include "report/json_writer.h"
#include "report/measure.h"
#include "report/value.h"

namespace dcpctl::report {
namespace {

Json PathJson(const KeyPath& path) {
  Json list = Json::array();
  for (const PathElement& element : path) {
    std::visit([&](const auto& part) { list.push_back(part); }, element);
  }
  return list;
}

Json DimsJson(DimsView dims) { return Json(std::vector<uint64_t>(dims.begin(), dims.end())); }

Json FindingJson(const Finding& finding) {
  Json json = {{"id", finding.id}, {"severity", Name(finding.severity)}};
  if (!finding.file.empty()) json["file"] = finding.file;
  if (finding.offset) json["offset"] = *finding.offset;
  if (!finding.key.empty()) json["key"] = finding.key;
  json["message"] = finding.message;
  if (!finding.advice.empty()) json["advice"] = finding.advice;
  return json;
}

void WriteFindings(const Findings& findings, JsonWriter& writer) {
  writer.BeginList("findings");
  for (const Finding& finding : findings) writer.Item(FindingJson(finding));
  writer.EndList();
}

// Place of a record: shared by chunks and objects.
void AddRecord(const Catalog& catalog, uint32_t file, uint64_t offset, uint64_t length, uint32_t transforms,
               Json& json) {
  if (file < catalog.files.size()) json["file"] = catalog.files[file].path;  // else there is a finding
  json["offset"] = offset;
  json["length"] = length;
  if (!catalog.transform_chains[transforms].empty()) json["transforms"] = catalog.transform_chains[transforms];
}

Json ChunkJson(const Catalog& catalog, const Tensor& tensor, const Chunk& chunk) {
  const BoxView box = catalog.BoxOf(tensor, chunk);
  Json json = {{"offsets", DimsJson(box.offsets)}, {"sizes", DimsJson(box.sizes)}};
  AddRecord(catalog, chunk.file, chunk.offset, chunk.length, chunk.transforms, json);
  return json;
}

// JSON has no numbers that are not finite.
Json NumberJson(const Number& number) {
  return std::visit(
      [](auto value) {
        if constexpr (std::is_same_v<decltype(value), double>) {
          if (!std::isfinite(value)) return Json(nullptr);
        }
        return Json(value);
      },
      number);
}

Json StatsJson(const TensorStats& stats) {
  return {{"min", NumberJson(stats.min)},
          {"max", NumberJson(stats.max)},
          {"mean", NumberJson(stats.mean)},
          {"std", NumberJson(stats.std)},
          {"nan", stats.nan},
          {"inf", stats.inf}};
}

Json TensorJson(const InspectReport& report, uint32_t index) {
  const Catalog& catalog = report.catalog;
  const Tensor& tensor = catalog.tensors[index];
  Json json = {{"key", tensor.key},
               {"path", PathJson(catalog.KeyPathOf(tensor))},
               {"kind", "tensor"},
               {"dtype", Name(tensor.dtype)},
               {"shape", DimsJson(tensor.shape)}};
  json["bytes"] = BytesOf(tensor);
  json["requires_grad"] = tensor.requires_grad;
  if (index < report.stats.size() && report.stats[index]) json["stats"] = StatsJson(*report.stats[index]);
  json["chunks"] = Json::array();
  for (const Chunk& chunk : catalog.ChunksOf(tensor)) json["chunks"].push_back(ChunkJson(catalog, tensor, chunk));
  return json;
}

Json ObjectJson(const Catalog& catalog, const Object& object) {
  Json json = {{"key", object.key}, {"path", PathJson(catalog.KeyPathOf(object))}, {"kind", "object"}};
  if (object.value) {
    json["type"] = pickle::TypeName(object.value->document.root());
    json["value"] = ValueJson(object.value->document.root());
  }
  AddRecord(catalog, object.file, object.offset, object.length, object.transforms, json);
  return json;
}

Json FileJson(const SourceFile& file) {
  Json json = {{"path", file.path}, {"bytes", file.bytes}};
  if (file.rank) json["rank"] = *file.rank;
  if (file.bucket) json["bucket"] = *file.bucket;
  json["entries"] = file.entries;
  json["referenced"] = file.referenced;
  if (file.missing) json["missing"] = true;
  return json;
}

Json RecordJson(const Catalog& catalog, const FoundRecord& record) {
  Json json = {{"file", catalog.files[record.file].path}, {"offset", record.offset}, {"length", record.length}};
  if (!record.problem.empty()) {
    json["problem"] = record.problem;
  } else if (record.is_tensor) {
    json["kind"] = "tensor";
    json["dtype"] = Name(record.dtype);
    json["shape"] = DimsJson(record.shape);
  } else {
    json["kind"] = "object";
    json["type"] = record.type;
  }
  return json;
}

Json TotalsJson(const InspectTotals& totals) {
  return {{"tensors", totals.tensors},      {"objects", totals.objects}, {"chunks", totals.chunks},
          {"elements", totals.elements},    {"bytes", totals.bytes},     {"files", totals.files},
          {"file_bytes", totals.file_bytes}};
}

Json DetailJson(const Catalog& catalog) {
  Json json = Json::object();
  for (const auto& [name, text] : catalog.details) json[name] = text;
  return json;
}

Json ForeignNameJson(const ForeignName& foreign) {
  Json json = {{"name", foreign.name}, {"entries", foreign.entries}};
  if (foreign.refused) json["refused"] = true;
  return json;
}

Json TotalsJson(const VerifyTotals& totals) {
  return {{"tensors", totals.tensors},
          {"objects", totals.objects},
          {"chunks", totals.chunks},
          {"bytes", totals.bytes},
          {"files", totals.files},
          {"file_bytes", totals.file_bytes},
          {"used_bytes", totals.used_bytes},
          {"padding_bytes", totals.padding_bytes},
          {"orphan_bytes", totals.orphan_bytes},
          {"checked_storages", totals.checked_storages},
          {"checked_bytes", totals.checked_bytes},
          {"unknown_checksums", totals.unknown_checksums},
          {"scanned_tensors", totals.scanned_tensors},
          {"scanned_elements", totals.scanned_elements},
          {"errors", totals.errors},
          {"warnings", totals.warnings},
          {"notes", totals.notes}};
}

void WritePlanFields(const PlanSummary& plan, JsonWriter& writer) {
  writer.BeginList("outputs");
  for (const PlanOutput& output : plan.outputs) writer.Item({{"path", output.path}, {"bytes", output.bytes}});
  writer.EndList();
  writer.Field("bytes_read", plan.bytes_read);
  writer.Field("bytes_written", plan.bytes_written);
  writer.Field("bytes_cloned", plan.bytes_cloned);
  writer.Field("steps", plan.steps);
  writer.Field("needs", {{"tensor_math", plan.needs.tensor_math}, {"mpi", plan.needs.mpi}, {"cuda", plan.needs.cuda}});
  WriteFindings(plan.findings, writer);
}

// Nothing where no cast was asked for.
void WriteCast(const ConvertReport& report, JsonWriter& writer) {
  if (!report.cast) return;
  const CastTotals& cast = *report.cast;
  writer.Field("cast", {{"dtype", Name(cast.to)}, {"tensors", cast.cast}, {"same", cast.same}, {"other", cast.other}});
}

void WriteKeys(std::string_view name, const std::vector<std::string>& keys, JsonWriter& writer) {
  writer.BeginList(name);
  for (const std::string& key : keys) writer.Item(key);
  writer.EndList();
}

Json DifferenceJson(const Difference& difference) {
  Json json = {{"key", difference.key}, {"what", Name(difference.what)}};
  if (difference.what != DifferenceKind::kValues) {
    json["a"] = difference.a;
    json["b"] = difference.b;
    return json;
  }
  json["first_index"] = DimsJson(difference.first_index);
  json["differing"] = difference.differing;
  json["elements"] = difference.elements;
  if (difference.max_abs_diff)
    std::visit([&](const auto number) { json["max_abs_diff"] = number; }, *difference.max_abs_diff);
  return json;
}

// Nothing for no ranks.
void WriteRanks(const std::vector<RankTotals>& ranks, JsonWriter& writer) {
  if (ranks.empty()) return;
  writer.Field("imbalance", Imbalance(ranks));
  writer.BeginList("ranks");
  for (size_t rank = 0; rank < ranks.size(); ++rank)
    writer.Item({{"rank", rank}, {"bytes", ranks[rank].bytes}, {"pieces", ranks[rank].pieces}});
  writer.EndList();
}

}  // namespace

void WriteInspectJson(const InspectReport& report, std::ostream& out) {
  const Catalog& catalog = report.catalog;
  JsonWriter writer(out);
  writer.Field("schema", "dcpctl.inspect/1");
  writer.Field("path", catalog.root.string());
  writer.Field("format", Name(catalog.format));
  writer.Field("format_detail", DetailJson(catalog));
  writer.Field("totals", TotalsJson(report.totals));
  const auto write_entry = [&](EntryRef entry) {
    writer.Item(entry.is_tensor ? TensorJson(report, entry.index) : ObjectJson(catalog, catalog.objects[entry.index]));
  };
  writer.BeginList("entries");
  if (report.entry) {
    write_entry(*report.entry);
  } else {
    for (const EntryRef entry : catalog.entries) write_entry(entry);
  }
  writer.EndList();
  writer.Field("objects_read", report.objects_read);
  writer.BeginList("foreign_names");
  for (const ForeignName& foreign : report.foreign_names) writer.Item(ForeignNameJson(foreign));
  writer.EndList();
  if (report.without_metadata) {
    writer.BeginList("records");
    for (const FoundRecord& record : report.records) writer.Item(RecordJson(catalog, record));
    writer.EndList();
  }
  writer.BeginList("files");
  for (const SourceFile& file : catalog.files) writer.Item(FileJson(file));
  writer.EndList();
  WriteFindings(catalog.findings, writer);
  writer.End();
}

void WriteCompareJson(const CompareReport& report, std::ostream& out) {
  JsonWriter writer(out);
  writer.Field("schema", "dcpctl.compare/1");
  writer.Field("a", report.a.string());
  writer.Field("b", report.b.string());
  writer.Field("equal", report.equal);
  Json totals = {
      {"tensors", report.totals.tensors}, {"objects", report.totals.objects}, {"bytes", report.totals.bytes}};
  if (report.tolerance) {
    writer.Field("rtol", report.tolerance->relative);
    writer.Field("atol", report.tolerance->absolute);
    totals["close"] = report.totals.close;
  }
  writer.Field("totals", totals);
  WriteKeys("only_in_a", report.only_in_a, writer);
  WriteKeys("only_in_b", report.only_in_b, writer);
  writer.BeginList("differ");
  for (const Difference& difference : report.differ) writer.Item(DifferenceJson(difference));
  writer.EndList();
  writer.End();
}

void WriteVerifyJson(const VerifyReport& report, std::ostream& out) {
  JsonWriter writer(out);
  writer.Field("schema", "dcpctl.verify/1");
  writer.Field("path", report.path.string());
  writer.Field("format", Name(report.format));
  writer.Field("level", Name(report.level));
  writer.Field("ok", report.ok);
  writer.Field("totals", TotalsJson(report.totals));
  WriteFindings(report.findings, writer);
  writer.End();
}

void WriteRepairJson(const RepairReport& report, const std::string& path, const std::string& like, std::ostream& out) {
  JsonWriter writer(out);
  writer.Field("schema", "dcpctl.repair/1");
  writer.Field("path", path);
  writer.Field("like", like);
  writer.Field("output", report.output.string());
  writer.Field("fits", report.fits);
  writer.Field("written", report.written);
  writer.Field("totals", {{"tensors", report.tensors},
                          {"objects", report.objects},
                          {"files", report.files},
                          {"records", report.records},
                          {"bytes", report.bytes}});
  WriteFindings(report.findings, writer);
  writer.End();
}

void WritePlanJson(const ConvertReport& report, std::ostream& out) {
  JsonWriter writer(out);
  writer.Field("schema", "dcpctl.plan/1");
  WritePlanFields(report.plan, writer);
  WriteCast(report, writer);
  WriteRanks(report.ranks, writer);
  writer.End();
}

void WriteConvertJson(const ConvertReport& report, const std::string& source, const std::string& target,
                      std::ostream& out) {
  JsonWriter writer(out);
  writer.Field("schema", "dcpctl.convert/1");
  writer.Field("source", source);
  writer.Field("target", target);
  writer.Field("tensors", report.tensors);
  writer.Field("objects", report.objects);
  writer.Field("bytes", report.tensor_bytes);
  writer.Field("left_out", report.left_out);
  writer.Field("seconds", report.seconds);
  WritePlanFields(report.plan, writer);
  WriteCast(report, writer);
  WriteRanks(report.ranks, writer);
  writer.End();
}

}  // namespace dcpctl::report

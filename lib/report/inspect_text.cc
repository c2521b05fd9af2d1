#include "report/inspect_text.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <set>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "report/measure.h"
#include "report/value.h"
#include "text/display.h"
#include "text/numbers.h"
#include "text/table.h"

namespace dcpctl::report {
namespace {

using text::Align;
using text::FormatBytes;
using text::FormatCount;

text::TableOptions TableStyle(const TextStyle& style, size_t indent = 0) {
  text::TableOptions options{.width = style.width, .header = true, .indent = indent, .style = {}};
  if (style.color) {
    options.style = [style](std::string_view cell, size_t row, size_t /*column*/) {
      return row == text::kHeaderRow ? Paint(cell, Ink::kBold, style) : std::string(cell);
    };
  }
  return options;
}

std::string FindDetail(const Catalog& catalog, std::string_view name) {
  const auto found = std::find_if(catalog.details.begin(), catalog.details.end(),
                                  [&](const auto& detail) { return detail.first == name; });
  return found == catalog.details.end() ? "" : found->second;
}

std::string TransformText(const Catalog& catalog, uint32_t chain) {
  std::string joined;
  for (const std::string& transform : catalog.transform_chains[chain])
    joined += (joined.empty() ? "" : " ") + transform;
  return joined;
}

bool HasTransforms(const Catalog& catalog) { return catalog.transform_chains.size() > 1; }

// The empty string is a legal key.
std::string KeyText(const std::string& key) { return key.empty() ? "\"\"" : key; }

std::string FileName(const Catalog& catalog, uint32_t file) {
  if (file >= catalog.files.size()) return "";  // the metadata says no place for it: there is a finding
  return catalog.files[file].path.empty() ? catalog.root.filename().string() : catalog.files[file].path;
}

std::string RankText(const Catalog& catalog) {
  std::set<uint64_t> ranks;
  for (const SourceFile& file : catalog.files) {
    if (file.rank && file.referenced) ranks.insert(*file.rank);
  }
  return ranks.empty() ? "" : ", " + Plural(ranks.size(), "rank");
}

// All that is known and not said elsewhere.
std::string RenderDetails(const Catalog& catalog) {
  std::string lines;
  for (const auto& [name, value] : catalog.details)
    lines += "  " + text::Printable(name) + ": " + text::Printable(value) + "\n";
  return lines;
}

// In JSON there are all of them.
constexpr size_t kMostForeignNames = 5;

// "acme.State in 2 objects, os.system in 1 object (refused by conversions) and 3 more"; of one entry without the
// counts. Empty when there are none.
std::string ForeignNamesText(const InspectReport& report) {
  std::string text;
  const size_t shown = std::min(kMostForeignNames, report.foreign_names.size());
  for (size_t i = 0; i < shown; ++i) {
    const ForeignName& foreign = report.foreign_names[i];
    text += (i == 0 ? "" : ", ") + text::Printable(foreign.name);
    if (!report.entry) text += " in " + Plural(foreign.entries, "object");
    if (foreign.refused) text += " (refused by conversions)";
  }
  if (const size_t more = report.foreign_names.size() - shown; more > 0) text += " and " + FormatCount(more) + " more";
  return text;
}

std::string NoteOf(const SourceFile& file) {
  if (file.missing) return "missing";
  if (file.bytes == 0) return "empty";
  if (!file.referenced) return "not referenced";
  return file.entries == 0 ? "metadata" : "";
}

std::vector<const SourceFile*> FilesByRank(const Catalog& catalog) {
  std::vector<const SourceFile*> files;
  for (const SourceFile& file : catalog.files) files.push_back(&file);
  const auto order = [](const SourceFile* file) {
    return std::tuple(!file->rank.has_value(), file->rank.value_or(0), file->bucket.value_or(0),
                      std::string_view(file->path));
  };
  std::sort(files.begin(), files.end(), [&](const SourceFile* a, const SourceFile* b) { return order(a) < order(b); });
  return files;
}

// The name that shows most: of the last rank, with a counter above zero if there is one.
std::string ExplainNames(const std::vector<const SourceFile*>& files) {
  const SourceFile* example = nullptr;
  for (const SourceFile* file : files) {
    if (file->rank && file->bucket && (!example || *file->bucket > 0 || *example->bucket == 0)) example = file;
  }
  if (!example) return "";
  return "\n" + text::Printable(example->path) + " is what rank " + std::to_string(*example->rank) +
         " of the save wrote as its file number " + std::to_string(*example->bucket) +
         ", counting from 0.\n"
         "A rank writes one file for each writer thread, or one for each entry. Any number\n"
         "of files is fine, and so are empty ones.\n";
}

void AddField(std::string& out, std::string_view name, const std::string& value, const TextStyle& style) {
  static constexpr size_t kNameColumns = 15;
  out += Paint(name, Ink::kBold, style) + std::string(kNameColumns - name.size(), ' ') + value + "\n";
}

std::string PathText(const KeyPath& path) {
  std::string joined;
  for (const PathElement& element : path) {
    const auto* name = std::get_if<std::string>(&element);
    joined += (joined.empty() ? "" : " / ") +
              (name ? text::Printable(KeyText(*name)) : "[" + std::to_string(std::get<uint64_t>(element)) + "]");
  }
  return joined;
}

std::string StatText(const Number& number) {
  return std::visit(
      [](auto value) {
        if constexpr (!std::is_same_v<decltype(value), double>) return std::to_string(value);
        if (std::isnan(static_cast<double>(value))) return std::string("nan");  // of either sign
        std::array<char, 32> text{};
        const int length = std::snprintf(text.data(), text.size(), "%.6g", static_cast<double>(value));
        return std::string(text.data(), static_cast<size_t>(length));
      },
      number);
}

// In the order of the columns. Nothing where nothing is known.
std::vector<std::pair<std::string, std::string>> StatsFields(const InspectReport& report, uint32_t tensor) {
  const std::optional<TensorStats> stats = tensor < report.stats.size() ? report.stats[tensor] : std::nullopt;
  if (!stats) return {{"min", ""}, {"max", ""}, {"mean", ""}, {"std", ""}, {"nan", ""}, {"inf", ""}};
  return {{"min", StatText(stats->min)}, {"max", StatText(stats->max)},    {"mean", StatText(stats->mean)},
          {"std", StatText(stats->std)}, {"nan", FormatCount(stats->nan)}, {"inf", FormatCount(stats->inf)}};
}

std::string ChunkTable(const Catalog& catalog, const Tensor& tensor, const TextStyle& style) {
  std::vector<text::Column> columns = {
      {"BOX"}, {"FILE", Align::kLeft, true}, {"OFFSET", Align::kRight}, {"LENGTH", Align::kRight}};
  if (HasTransforms(catalog)) columns.push_back({"TRANSFORMS"});
  text::Table table(std::move(columns));
  for (const Chunk& chunk : catalog.ChunksOf(tensor)) {
    table.AddRow({ToString(catalog.BoxOf(tensor, chunk)), FileName(catalog, chunk.file), std::to_string(chunk.offset),
                  std::to_string(chunk.length), TransformText(catalog, chunk.transforms)});
  }
  return table.Render(TableStyle(style));
}

}  // namespace

std::string RenderTotals(const InspectReport& report, const TextStyle& style) {
  const Catalog& catalog = report.catalog;
  const InspectTotals& totals = report.totals;
  std::string first = Paint(text::Printable(catalog.root.string()) + ":", Ink::kBold, style);
  first += catalog.format == Format::kDcp ? " DCP checkpoint" : " torch.save file";
  if (const std::string version = FindDetail(catalog, "version"); !version.empty())
    first += ", version " + text::Printable(version);
  if (const std::string form = FindDetail(catalog, "form"); !form.empty())
    first += ", " + text::Printable(form) + " form";
  if (const std::string writer = FindDetail(catalog, "written_by"); !writer.empty())
    first += ", written by " + text::Printable(writer);
  first += RankText(catalog);
  std::string second = Plural(totals.tensors, "tensor") + " in " + Plural(totals.chunks, "chunk") + ", " +
                       Plural(totals.objects, "object");
  second += "; " + Plural(totals.elements, "element") + ", " + FormatBytes(totals.bytes);
  second += "; " + Plural(totals.files, "file") + ", " + FormatBytes(totals.file_bytes);
  std::string third;
  if (const std::string others = FindDetail(catalog, "other_attributes"); !others.empty()) {
    third = "other attributes in the metadata: " + text::Printable(others) + "\n";
  }
  if (const std::string foreign = ForeignNamesText(report); !foreign.empty())
    third += "foreign names in objects: " + foreign + "\n";
  return first + "\n" + second + "\n" + third;
}

std::string RenderTable(const InspectReport& report, const TextStyle& style) {
  const Catalog& catalog = report.catalog;
  std::vector<text::Column> columns = {
      {"KEY", Align::kLeft, true}, {"DTYPE"}, {"SHAPE"}, {"BYTES", Align::kRight}, {"CHUNKS", Align::kRight}};
  const bool has_stats = !report.stats.empty();
  if (has_stats) {
    for (const char* const name : {"MIN", "MAX", "MEAN", "STD", "NAN", "INF"}) columns.push_back({name, Align::kRight});
  }
  if (HasTransforms(catalog)) columns.push_back({"TRANSFORMS"});
  text::Table table(std::move(columns));
  for (const EntryRef entry : catalog.entries) {
    std::vector<std::string> cells;
    if (entry.is_tensor) {
      const Tensor& tensor = catalog.tensors[entry.index];
      const uint32_t chain = tensor.chunk_count == 0 ? 0 : catalog.ChunksOf(tensor)[0].transforms;
      cells = {KeyText(tensor.key), std::string(Name(tensor.dtype)), ToString(DimsView(tensor.shape)),
               FormatBytes(BytesOf(tensor)), FormatCount(tensor.chunk_count)};
      for (auto& [name, value] : StatsFields(report, entry.index)) {
        if (has_stats) cells.push_back(std::move(value));
      }
      cells.push_back(TransformText(catalog, chain));
    } else {
      const Object& object = catalog.objects[entry.index];
      cells = {KeyText(object.key), "object", "", FormatBytes(object.length), ""};
      if (has_stats) cells.resize(cells.size() + 6);
      cells.push_back(TransformText(catalog, object.transforms));
    }
    table.AddRow(std::move(cells));
  }
  return RenderTotals(report, style) + "\n" + table.Render(TableStyle(style));
}

std::string RenderFiles(const InspectReport& report, const TextStyle& style) {
  const std::vector<const SourceFile*> files = FilesByRank(report.catalog);
  text::Table table({{"FILE", Align::kLeft, true},
                     {"RANK", Align::kRight},
                     {"NUMBER", Align::kRight},
                     {"ENTRIES", Align::kRight},
                     {"BYTES", Align::kRight},
                     {"NOTE"}});
  for (const SourceFile* file : files) {
    table.AddRow({file->path.empty() ? report.catalog.root.filename().string() : file->path,
                  file->rank ? std::to_string(*file->rank) : "", file->bucket ? std::to_string(*file->bucket) : "",
                  FormatCount(file->entries), FormatBytes(file->bytes), NoteOf(*file)});
  }
  return RenderTotals(report, style) + RenderDetails(report.catalog) + "\n" + table.Render(TableStyle(style)) +
         ExplainNames(files);
}

std::string RenderChunks(const InspectReport& report, const TextStyle& style) {
  const Catalog& catalog = report.catalog;
  std::vector<text::Column> columns = {
      {"KEY", Align::kLeft, true}, {"BOX"}, {"FILE"}, {"OFFSET", Align::kRight}, {"LENGTH", Align::kRight}};
  if (HasTransforms(catalog)) columns.push_back({"TRANSFORMS"});
  text::Table table(std::move(columns));
  const auto add = [&](const std::string& key, std::string box, const auto& record) {
    table.AddRow({KeyText(key), std::move(box), FileName(catalog, record.file), std::to_string(record.offset),
                  std::to_string(record.length), TransformText(catalog, record.transforms)});
  };
  for (const EntryRef entry : catalog.entries) {
    if (!entry.is_tensor) {
      add(catalog.objects[entry.index].key, "object", catalog.objects[entry.index]);
      continue;
    }
    const Tensor& tensor = catalog.tensors[entry.index];
    for (const Chunk& chunk : catalog.ChunksOf(tensor)) add(tensor.key, ToString(catalog.BoxOf(tensor, chunk)), chunk);
  }
  return RenderTotals(report, style) + "\n" + table.Render(TableStyle(style));
}

std::string RenderEntry(const InspectReport& report, const TextStyle& style) {
  if (!report.entry) return "";
  const Catalog& catalog = report.catalog;
  std::string out;
  AddField(out, "key", text::Printable(KeyText(catalog.KeyOf(*report.entry))), style);
  if (report.entry->is_tensor) {
    const Tensor& tensor = catalog.tensors[report.entry->index];
    AddField(out, "path", PathText(tensor.path), style);
    AddField(out, "dtype", std::string(Name(tensor.dtype)), style);
    AddField(out, "shape", ToString(DimsView(tensor.shape)), style);
    AddField(out, "bytes", FormatCount(BytesOf(tensor)), style);
    AddField(out, "requires_grad", tensor.requires_grad ? "true" : "false", style);
    for (const auto& [name, value] : StatsFields(report, report.entry->index)) {
      if (!value.empty()) AddField(out, name, value, style);
    }
    AddField(out, "chunks", FormatCount(tensor.chunk_count), style);
    return out + "\n" + ChunkTable(catalog, tensor, style);
  }
  const Object& object = catalog.objects[report.entry->index];
  AddField(out, "path", PathText(object.path), style);
  if (object.value) AddField(out, "type", text::Printable(pickle::TypeName(object.value->document.root())), style);
  AddField(out, "stored",
           Plural(object.length, "byte") + " at " + std::to_string(object.offset) + " of " +
               text::Printable(FileName(catalog, object.file)),
           style);
  if (const std::string transforms = TransformText(catalog, object.transforms); !transforms.empty())
    AddField(out, "transforms", text::Printable(transforms), style);
  if (const std::string foreign = ForeignNamesText(report); !foreign.empty())
    AddField(out, "foreign names", foreign, style);
  if (object.value) AddField(out, "value", ValueText(object.value->document.root()), style);
  return out;
}

std::string RenderKeys(const InspectReport& report, bool escaped) {
  std::string lines;
  for (const EntryRef entry : report.catalog.entries) {
    const std::string& key = report.catalog.KeyOf(entry);
    lines += (escaped ? text::Printable(key) : key) + "\n";
  }
  return lines;
}

std::string RenderRecords(const InspectReport& report, const TextStyle& style) {
  const InspectTotals& totals = report.totals;
  std::string out = Paint(text::Printable(report.catalog.root.string()) + ":", Ink::kBold, style) +
                    " data files of a DCP checkpoint without .metadata\n";
  out += Plural(totals.chunks, "part") + " of tensors, " + Plural(totals.objects, "object") + "; " +
         FormatCount(totals.elements) + " elements, " + FormatBytes(totals.bytes) + "; " +
         Plural(totals.files, "file") + ", " + FormatBytes(totals.file_bytes) +
         "\n\nNothing here says what the records are called.\n";
  text::Table table({{"FILE", Align::kLeft, true},
                     {"OFFSET", Align::kRight},
                     {"LENGTH", Align::kRight},
                     {"TYPE", Align::kLeft},
                     {"SHAPE", Align::kLeft, true}});
  for (const FoundRecord& record : report.records) {
    const std::string type = !record.problem.empty() ? "unreadable"
                             : record.is_tensor      ? std::string(Name(record.dtype))
                                                     : record.type;
    table.AddRow({text::Printable(FileName(report.catalog, record.file)), FormatCount(record.offset),
                  FormatCount(record.length), text::Printable(type),
                  record.is_tensor ? ToString(DimsView(record.shape)) : text::Printable(record.problem)});
  }
  return out + table.Render(TableStyle(style));
}

}  // namespace dcpctl::report

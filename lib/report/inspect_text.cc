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
std::string_view KeyText(std::string_view key) { return key.empty() ? "\"\"" : key; }

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

void AddField(std::ostream& out, std::string_view name, const std::string& value, const TextStyle& style) {
  static constexpr size_t kNameColumns = 15;
  out << Paint(name, Ink::kBold, style) << std::string(kNameColumns - name.size(), ' ') << value << "\n";
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

constexpr std::array<std::string_view, 6> kStats = {"min", "max", "mean", "std", "nan", "inf"};

// In the order of kStats. Nothing where nothing is known.
std::array<std::string, kStats.size()> StatsTexts(const InspectReport& report, uint32_t tensor) {
  const std::optional<TensorStats> stats = tensor < report.stats.size() ? report.stats[tensor] : std::nullopt;
  if (!stats) return {};
  return {StatText(stats->min), StatText(stats->max),    StatText(stats->mean),
          StatText(stats->std), FormatCount(stats->nan), FormatCount(stats->inf)};
}

// The last cells of a line about a stored part.
template <typename Record>
void AddPlace(text::RowSink& row, const Catalog& catalog, const Record& record) {
  row.Cell(FileName(catalog, record.file)).Cell(std::to_string(record.offset)).Cell(std::to_string(record.length));
  row.Cell(TransformText(catalog, record.transforms)).End();
}

void WriteChunkTable(std::ostream& out, const Catalog& catalog, const Tensor& tensor, const TextStyle& style) {
  std::vector<text::Column> columns = {
      {"BOX"}, {"FILE", Align::kLeft, true}, {"OFFSET", Align::kRight}, {"LENGTH", Align::kRight}};
  if (HasTransforms(catalog)) columns.push_back({"TRANSFORMS"});
  const auto rows = [&](text::RowSink& row) {
    for (const Chunk& chunk : catalog.ChunksOf(tensor)) {
      row.Cell(ToString(catalog.BoxOf(tensor, chunk)));
      AddPlace(row, catalog, chunk);
    }
  };
  text::WriteTable(out, columns, rows, TableStyle(style));
}

// The cells of a line of the table.
void AddEntry(text::RowSink& row, const InspectReport& report, EntryRef entry) {
  const Catalog& catalog = report.catalog;
  const bool has_stats = !report.stats.empty();
  if (!entry.is_tensor) {
    const Object& object = catalog.objects[entry.index];
    row.Cell(KeyText(object.key)).Cell("object").Cell("").Cell(FormatBytes(object.length)).Cell("");
    for (size_t i = 0; has_stats && i < kStats.size(); ++i) row.Cell("");
    row.Cell(TransformText(catalog, object.transforms)).End();
    return;
  }
  const Tensor& tensor = catalog.tensors[entry.index];
  row.Cell(KeyText(tensor.key)).Cell(Name(tensor.dtype)).Cell(ToString(tensor.shape));
  row.Cell(FormatBytes(BytesOf(tensor))).Cell(FormatCount(tensor.chunk_count));
  if (has_stats) {
    for (const std::string& value : StatsTexts(report, entry.index)) row.Cell(value);
  }
  const uint32_t chain = tensor.chunk_count == 0 ? 0 : catalog.ChunksOf(tensor)[0].transforms;
  row.Cell(TransformText(catalog, chain)).End();
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

void WriteTable(std::ostream& out, const InspectReport& report, const TextStyle& style) {
  std::vector<text::Column> columns = {
      {"KEY", Align::kLeft, true}, {"DTYPE"}, {"SHAPE"}, {"BYTES", Align::kRight}, {"CHUNKS", Align::kRight}};
  if (!report.stats.empty()) {
    for (const char* const name : {"MIN", "MAX", "MEAN", "STD", "NAN", "INF"}) columns.push_back({name, Align::kRight});
  }
  if (HasTransforms(report.catalog)) columns.push_back({"TRANSFORMS"});
  out << RenderTotals(report, style) << "\n";
  const auto rows = [&](text::RowSink& row) {
    for (const EntryRef entry : report.catalog.entries) AddEntry(row, report, entry);
  };
  text::WriteTable(out, columns, rows, TableStyle(style));
}

void WriteFiles(std::ostream& out, const InspectReport& report, const TextStyle& style) {
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
  out << RenderTotals(report, style) << RenderDetails(report.catalog) << "\n"
      << table.Render(TableStyle(style)) << ExplainNames(files);
}

void WriteChunks(std::ostream& out, const InspectReport& report, const TextStyle& style) {
  const Catalog& catalog = report.catalog;
  std::vector<text::Column> columns = {
      {"KEY", Align::kLeft, true}, {"BOX"}, {"FILE"}, {"OFFSET", Align::kRight}, {"LENGTH", Align::kRight}};
  if (HasTransforms(catalog)) columns.push_back({"TRANSFORMS"});
  const auto rows = [&](text::RowSink& row) {
    for (const EntryRef entry : catalog.entries) {
      if (!entry.is_tensor) {
        const Object& object = catalog.objects[entry.index];
        row.Cell(KeyText(object.key)).Cell("object");
        AddPlace(row, catalog, object);
        continue;
      }
      const Tensor& tensor = catalog.tensors[entry.index];
      for (const Chunk& chunk : catalog.ChunksOf(tensor)) {
        row.Cell(KeyText(tensor.key)).Cell(ToString(catalog.BoxOf(tensor, chunk)));
        AddPlace(row, catalog, chunk);
      }
    }
  };
  out << RenderTotals(report, style) << "\n";
  text::WriteTable(out, columns, rows, TableStyle(style));
}

void WriteEntry(std::ostream& out, const InspectReport& report, const TextStyle& style) {
  if (!report.entry) return;
  const Catalog& catalog = report.catalog;
  const auto add = [&](std::string_view name, const std::string& value) { AddField(out, name, value, style); };
  add("key", text::Printable(KeyText(catalog.KeyOf(*report.entry))));
  if (report.entry->is_tensor) {
    const Tensor& tensor = catalog.tensors[report.entry->index];
    add("path", PathText(catalog.KeyPathOf(tensor)));
    add("dtype", std::string(Name(tensor.dtype)));
    add("shape", ToString(tensor.shape));
    add("bytes", FormatCount(BytesOf(tensor)));
    add("requires_grad", tensor.requires_grad ? "true" : "false");
    const auto stats = StatsTexts(report, report.entry->index);
    for (size_t i = 0; i < kStats.size(); ++i) {
      if (!stats[i].empty()) add(kStats[i], stats[i]);
    }
    add("chunks", FormatCount(tensor.chunk_count));
    out << "\n";
    return WriteChunkTable(out, catalog, tensor, style);
  }
  const Object& object = catalog.objects[report.entry->index];
  add("path", PathText(catalog.KeyPathOf(object)));
  if (object.value) add("type", text::Printable(pickle::TypeName(object.value->document.root())));
  add("stored", Plural(object.length, "byte") + " at " + std::to_string(object.offset) + " of " +
                    text::Printable(FileName(catalog, object.file)));
  if (const std::string transforms = TransformText(catalog, object.transforms); !transforms.empty())
    add("transforms", text::Printable(transforms));
  if (const std::string foreign = ForeignNamesText(report); !foreign.empty()) add("foreign names", foreign);
  if (object.value) add("value", ValueText(object.value->document.root()));
}

void WriteKeys(std::ostream& out, const InspectReport& report, bool escaped) {
  for (const EntryRef entry : report.catalog.entries) {
    const std::string_view key = report.catalog.KeyOf(entry);
    if (escaped) {
      out << text::Printable(key) << '\n';
    } else {
      out << key << '\n';
    }
  }
}

void WriteRecords(std::ostream& out, const InspectReport& report, const TextStyle& style) {
  const InspectTotals& totals = report.totals;
  out << Paint(text::Printable(report.catalog.root.string()) + ":", Ink::kBold, style)
      << " data files of a DCP checkpoint without .metadata\n"
      << Plural(totals.chunks, "part") << " of tensors, " << Plural(totals.objects, "object") << "; "
      << FormatCount(totals.elements) << " elements, " << FormatBytes(totals.bytes) << "; "
      << Plural(totals.files, "file") << ", " << FormatBytes(totals.file_bytes)
      << "\n\nNothing here says what the records are called.\n";
  const std::vector<text::Column> columns = {{"FILE", Align::kLeft, true},
                                             {"OFFSET", Align::kRight},
                                             {"LENGTH", Align::kRight},
                                             {"TYPE", Align::kLeft},
                                             {"SHAPE", Align::kLeft, true}};
  const auto rows = [&](text::RowSink& row) {
    for (const FoundRecord& record : report.records) {
      row.Cell(FileName(report.catalog, record.file));
      row.Cell(FormatCount(record.offset)).Cell(FormatCount(record.length));
      row.Cell(!record.problem.empty() ? "unreadable" : record.is_tensor ? Name(record.dtype) : record.type);
      row.Cell(record.is_tensor ? ToString(record.shape) : record.problem).End();
    }
  };
  text::WriteTable(out, columns, rows, TableStyle(style));
}

}  // namespace dcpctl::report

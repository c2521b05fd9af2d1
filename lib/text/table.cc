#include "text/table.h"

#include <algorithm>

#include "text/display.h"

namespace dcpctl::text {
namespace {

constexpr size_t kGap = 2;
constexpr size_t kMinFlexible = 8;

// Writes cells into lines. Padding is held back until text follows it, so that no line ends in spaces.
class Writer {
 public:
  Writer(const std::vector<Column>& columns, const std::vector<size_t>& widths, const TableOptions& options)
      : columns_(columns), widths_(widths), options_(options) {}

  void Line(size_t row, const std::vector<std::string>& cells) {
    size_t pending = options_.indent;
    for (size_t i = 0; i < columns_.size(); ++i) {
      const std::string cell = Ellipsize(cells[i], widths_[i]);
      const size_t padding = widths_[i] - DisplayWidth(cell);
      const bool right = columns_[i].align == Align::kRight;
      if (right) pending += padding;
      if (!cell.empty()) {
        out_.append(pending, ' ');
        out_ += options_.style ? options_.style(cell, row, i) : cell;
        pending = 0;
      }
      pending += (right ? 0 : padding) + kGap;
    }
    out_ += '\n';
  }

  std::string Take() && { return std::move(out_); }

 private:
  const std::vector<Column>& columns_;
  const std::vector<size_t>& widths_;
  const TableOptions& options_;
  std::string out_;
};

void Shrink(const std::vector<Column>& columns, const TableOptions& options, std::vector<size_t>& widths) {
  size_t total = options.indent + kGap * (columns.size() - 1);
  for (const size_t width : widths) total += width;
  const auto flexible = std::find_if(columns.begin(), columns.end(), [](const Column& c) { return c.flexible; });
  if (options.width == 0 || total <= options.width || flexible == columns.end()) return;
  size_t& width = widths[static_cast<size_t>(flexible - columns.begin())];
  const size_t excess = total - options.width;
  width = std::min(width, std::max(kMinFlexible, width > excess ? width - excess : 0));
}

}  // namespace

void Table::AddRow(std::vector<std::string> cells) {
  cells.resize(columns_.size());
  for (std::string& cell : cells) cell = Printable(cell);
  rows_.push_back(std::move(cells));
}

std::string Table::Render(const TableOptions& options) const {
  if (columns_.empty()) return "";
  std::vector<std::string> header;
  std::vector<size_t> widths;
  for (size_t i = 0; i < columns_.size(); ++i) {
    header.push_back(columns_[i].header);
    size_t width = options.header ? DisplayWidth(header[i]) : 0;
    for (const auto& row : rows_) width = std::max(width, DisplayWidth(row[i]));
    widths.push_back(width);
  }
  Shrink(columns_, options, widths);
  Writer writer(columns_, widths, options);
  if (options.header) writer.Line(kHeaderRow, header);
  for (size_t row = 0; row < rows_.size(); ++row) writer.Line(row, rows_[row]);
  return std::move(writer).Take();
}

}  // namespace dcpctl::text

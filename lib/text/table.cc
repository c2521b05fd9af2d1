#include "text/table.h"

#include <algorithm>
#include <ostream>
#include <sstream>

#include "text/display.h"

namespace dcpctl::text {
namespace {

constexpr size_t kGap = 2;
constexpr size_t kMinFlexible = 8;

class Measurer final : public RowSink {
 public:
  explicit Measurer(size_t columns) : RowSink(columns), widths_(columns) {}

  [[nodiscard]] const std::vector<size_t>& widths() const { return widths_; }

 private:
  void OnEnd(size_t /*row*/) override {
    for (size_t i = 0; i < widths_.size(); ++i) widths_[i] = std::max(widths_[i], WidthAt(i));
  }

  std::vector<size_t> widths_;
};

// Padding is held back until text follows it, so that no line ends in spaces.
class Writer final : public RowSink {
 public:
  Writer(std::ostream& out, const std::vector<Column>& columns, const std::vector<size_t>& widths,
         const TableOptions& options)
      : RowSink(columns.size()), out_(out), columns_(columns), widths_(widths), options_(options) {}

  void Header() {
    for (const Column& column : columns_) Add(column.header, DisplayWidth(column.header), kHeaderRow);
    EndLine();
  }

 private:
  void OnEnd(size_t row) override {
    for (size_t i = 0; i < columns_.size(); ++i) Add(CellAt(i), WidthAt(i), row);
    EndLine();
  }

  void Add(std::string_view cell, size_t width, size_t row) {
    const size_t column = next_++;
    std::string cut;
    if (width > widths_[column]) {
      cell = cut = Ellipsize(cell, widths_[column]);
      width = DisplayWidth(cell);
    }
    const size_t padding = widths_[column] - width;
    const bool right = columns_[column].align == Align::kRight;
    if (right) pending_ += padding;
    if (!cell.empty()) {
      line_.append(pending_, ' ');
      line_ += options_.style ? options_.style(cell, row, column) : cell;
      pending_ = 0;
    }
    pending_ += (right ? 0 : padding) + kGap;
  }

  void EndLine() {
    line_ += '\n';
    out_.write(line_.data(), static_cast<std::streamsize>(line_.size()));
    line_.clear();
    next_ = 0;
    pending_ = options_.indent;
  }

  std::ostream& out_;
  const std::vector<Column>& columns_;
  const std::vector<size_t>& widths_;
  const TableOptions& options_;
  std::string line_;
  size_t next_ = 0;  // column
  size_t pending_ = options_.indent;
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

RowSink& RowSink::Cell(std::string_view text) {
  if (IsPrintableAscii(text)) {
    text_ += text;
    cells_.push_back({.end = text_.size(), .width = text.size()});
  } else {
    const std::string printable = Printable(text);
    text_ += printable;
    cells_.push_back({.end = text_.size(), .width = DisplayWidth(printable)});
  }
  return *this;
}

void RowSink::End() {
  cells_.resize(columns_, {.end = text_.size(), .width = 0});
  OnEnd(rows_++);
  text_.clear();
  cells_.clear();
}

std::string_view RowSink::CellAt(size_t column) const {
  const size_t begin = column == 0 ? 0 : cells_[column - 1].end;
  return std::string_view(text_).substr(begin, cells_[column].end - begin);
}

void WriteTable(std::ostream& out, const std::vector<Column>& columns, const RowSource& rows,
                const TableOptions& options) {
  if (columns.empty()) return;
  Measurer measurer(columns.size());
  rows(measurer);
  std::vector<size_t> widths = measurer.widths();
  for (size_t i = 0; options.header && i < columns.size(); ++i)
    widths[i] = std::max(widths[i], DisplayWidth(columns[i].header));
  Shrink(columns, options, widths);
  Writer writer(out, columns, widths, options);
  if (options.header) writer.Header();
  rows(writer);
}

std::string Table::Render(const TableOptions& options) const {
  std::ostringstream out;
  const auto rows = [this](RowSink& sink) {
    for (const std::vector<std::string>& row : rows_) {
      for (const std::string& cell : row) sink.Cell(cell);
      sink.End();
    }
  };
  WriteTable(out, columns_, rows, options);
  return std::move(out).str();
}

}  // namespace dcpctl::text

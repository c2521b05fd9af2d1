// Text in columns, two spaces apart, no trailing spaces, a newline after each line. Plain UTF-8: colour comes from
// the caller's hook and does not count as width. Not thread-safe while rows are added.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dcpctl::text {

enum class Align : uint8_t { kLeft, kRight };

struct Column {
  std::string header;
  Align align = Align::kLeft;
  // Cut (Ellipsize) when the table is too wide. At most one column: the first one counts.
  bool flexible = false;
};

// Row number that a CellStyle gets for the header.
inline constexpr size_t kHeaderRow = std::numeric_limits<size_t>::max();

// The cell's text with terminal escapes around it. `text` is already cut and has no padding.
using CellStyle = std::function<std::string(std::string_view text, size_t row, size_t column)>;

struct TableOptions {
  size_t width = 0;  // columns in all; 0 for no limit. A flexible column keeps at least 8, whatever this says.
  bool header = true;
  size_t indent = 0;
  CellStyle style = {};
};

// Takes the rows of a table one after the other: their cells from left to right, then the end of each.
class RowSink {
 public:
  virtual ~RowSink() = default;

  // Passes through Printable.
  RowSink& Cell(std::string_view text);
  // Cells that are missing are empty; those beyond the last column are dropped.
  void End();

 protected:
  explicit RowSink(size_t columns) : columns_(columns) {}
  // Of the row that ends.
  [[nodiscard]] std::string_view CellAt(size_t column) const;
  [[nodiscard]] size_t WidthAt(size_t column) const { return cells_[column].width; }

 private:
  virtual void OnEnd(size_t row) = 0;

  struct Placed {
    size_t end;  // in text_
    size_t width;
  };
  size_t columns_;
  size_t rows_ = 0;
  std::string text_;  // all cells of this row
  std::vector<Placed> cells_;
};

// A table of any length: no row is kept. `rows` is called twice, to measure and to write, and gives the same rows.
using RowSource = std::function<void(RowSink& rows)>;
void WriteTable(std::ostream& out, const std::vector<Column>& columns, const RowSource& rows,
                const TableOptions& options = {});

// A short one.
class Table {
 public:
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  // As a RowSink takes it.
  void AddRow(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  [[nodiscard]] size_t row_count() const { return rows_.size(); }
  [[nodiscard]] std::string Render(const TableOptions& options = {}) const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace dcpctl::text

// Text in columns, two spaces apart, no trailing spaces, a newline after each line. Plain UTF-8: colour comes from
// the caller's hook and does not count as width. Not thread-safe while rows are added.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
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

class Table {
 public:
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  // Cells that are missing are empty; those beyond the last column are dropped. Cells pass through Printable.
  void AddRow(std::vector<std::string> cells);
  [[nodiscard]] size_t row_count() const { return rows_.size(); }
  [[nodiscard]] std::string Render(const TableOptions& options = {}) const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace dcpctl::text

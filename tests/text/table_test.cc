#include "text/table.h"

#include <gtest/gtest.h>

#include <random>
#include <sstream>

#include "text/display.h"

namespace dcpctl::text {
namespace {

Table Sample() {
  Table table({{.header = "name", .flexible = true}, {.header = "shape"}, {.header = "size", .align = Align::kRight}});
  table.AddRow({"layers.0.weight", "[8, 4]", "128 B"});
  table.AddRow({"step", "", "8 B"});
  return table;
}

std::vector<std::string> Lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

TEST(Table, AlignsColumns) {
  EXPECT_EQ(Sample().Render(),
            "name             shape    size\n"
            "layers.0.weight  [8, 4]  128 B\n"
            "step                       8 B\n");
  EXPECT_EQ(Sample().row_count(), 2u);
}

TEST(Table, MayHaveNoHeaderAndAnIndent) {
  EXPECT_EQ(Sample().Render({.header = false, .indent = 2}),
            "  layers.0.weight  [8, 4]  128 B\n"
            "  step                       8 B\n");
}

TEST(Table, EndsNoLineInSpaces) {
  Table table({{.header = "a"}, {.header = ""}, {.header = "c"}});
  table.AddRow({"1", "", ""});
  table.AddRow({"", "long cell", ""});
  table.AddRow({"", "", ""});
  EXPECT_EQ(table.Render(), "a             c\n1\n   long cell\n\n");
}

TEST(Table, ShrinksTheFlexibleColumn) {
  EXPECT_EQ(Sample().Render({.width = 26}),
            "name         shape    size\n"
            "layer…eight  [8, 4]  128 B\n"
            "step                   8 B\n");
  EXPECT_EQ(Sample().Render({.width = 30}), Sample().Render());
  EXPECT_EQ(Sample().Render({.width = 100}), Sample().Render());
}

TEST(Table, KeepsALeastWidth) { EXPECT_EQ(Lines(Sample().Render({.width = 1}))[1], "laye…ght  [8, 4]  128 B"); }

TEST(Table, WithoutFlexibleColumnIsAsWideAsItMustBe) {
  Table table({{.header = "name"}});
  table.AddRow({"layers.0.weight"});
  EXPECT_EQ(table.Render({.width = 5}), "name\nlayers.0.weight\n");
}

TEST(Table, CountsColumnsOfTheTerminal) {
  Table table({{.header = "n"}, {.header = "m"}});
  table.AddRow({"模型", "x"});
  table.AddRow({"é", "y"});
  EXPECT_EQ(table.Render(), "n     m\n模型  x\né     y\n");
}

TEST(Table, StyleDoesNotCountAsWidth) {
  const CellStyle style = [](std::string_view text, size_t row, size_t column) {
    const bool marked = row == kHeaderRow || (row == 1 && column == 0);
    return marked ? "<" + std::string(text) + ">" : std::string(text);
  };
  EXPECT_EQ(Sample().Render({.style = style}),
            "<name>             <shape>    <size>\n"
            "layers.0.weight  [8, 4]  128 B\n"
            "<step>                       8 B\n");
}

TEST(Table, EscapesCellsAndFillsRows) {
  Table table({{.header = "a"}, {.header = "b"}});
  table.AddRow({"\x1b[0m"});
  table.AddRow({"1", "2", "dropped"});
  EXPECT_EQ(table.Render(), "a        b\n\\x1b[0m\n1        2\n");
}

TEST(WriteTable, IsAsTheTableOfTheSameRows) {
  const std::vector<Column> columns = {{.header = "n", .flexible = true}, {.header = "m", .align = Align::kRight}};
  const std::vector<std::vector<std::string>> rows = {{"layers.0.weight", "1"}, {"é\n", "\\"}, {}, {"x", "y", "z"}};
  int asked = 0;
  const auto source = [&](RowSink& sink) {
    ++asked;
    for (const std::vector<std::string>& row : rows) {
      for (const std::string& cell : row) sink.Cell(cell);
      sink.End();
    }
  };
  Table table(columns);
  for (const std::vector<std::string>& row : rows) table.AddRow(row);
  for (const size_t width : {size_t{0}, size_t{12}}) {
    std::ostringstream out;
    WriteTable(out, columns, source, {.width = width});
    EXPECT_EQ(out.str(), table.Render({.width = width}));
    EXPECT_EQ(Lines(out.str()).size(), rows.size() + 1);
  }
  EXPECT_EQ(asked, 4);
}

TEST(Table, OfNothingIsNothing) {
  EXPECT_EQ(Table({}).Render(), "");
  EXPECT_EQ(Table({{.header = "a"}}).Render(), "a\n");
}

TEST(Table, NeverExceedsTheWidthThatItCanReach) {
  std::mt19937 random(3);
  for (int round = 0; round < 300; ++round) {
    Table table({{.header = "k"}, {.header = "name", .flexible = true}, {.header = "v", .align = Align::kRight}});
    for (size_t rows = random() % 6; rows > 0; --rows) {
      table.AddRow({std::string(random() % 5, 'k'), std::string(random() % 60, 'n'), std::string(random() % 7, 'v')});
    }
    const size_t width = 4 + 2 + 8 + 2 + 6 + random() % 40;
    for (const std::string& line : Lines(table.Render({.width = width}))) {
      EXPECT_LE(DisplayWidth(line), width);
      EXPECT_FALSE(line.ends_with(' '));
    }
  }
}

}  // namespace
}  // namespace dcpctl::text

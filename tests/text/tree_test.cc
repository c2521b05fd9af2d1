#include "text/tree.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace dcpctl::text {
namespace {

std::string Draw(const std::vector<std::string>& names, const TreeOptions& options = {}) {
  std::string text;
  for (const TreeLine& line : TreeLines(names, options)) {
    text += line.text + (line.item ? " #" + std::to_string(*line.item) : "") + "\n";
  }
  return text;
}

TEST(TreeLines, NestsByParts) {
  EXPECT_EQ(Draw({"model.layers.0.weight", "model.layers.0.bias", "model.norm", "step"}),
            "├── model\n"
            "│   ├── layers\n"
            "│   │   └── 0\n"
            "│   │       ├── weight #0\n"
            "│   │       └── bias #1\n"
            "│   └── norm #2\n"
            "└── step #3\n");
}

TEST(TreeLines, OfNothingIsNothing) { EXPECT_EQ(Draw({}), ""); }

TEST(TreeLines, ANameMayBeAPrefixOfAnother) {
  EXPECT_EQ(Draw({"a", "a.b"}), "└── a #0\n    └── b #1\n");
  EXPECT_EQ(Draw({"a.b", "a"}), "└── a #1\n    └── b #0\n");
}

TEST(TreeLines, CollectsPartsThatAreApart) {
  EXPECT_EQ(Draw({"a.x", "b", "a.y"}), "├── a\n│   ├── x #0\n│   └── y #2\n└── b #1\n");
}

TEST(TreeLines, KeepsEveryName) {
  EXPECT_EQ(Draw({"a", "a"}), "├── a #0\n└── a #1\n");
  EXPECT_EQ(Draw({"a.b", "a.b"}), "└── a\n    ├── b #0\n    └── b #1\n");
  EXPECT_EQ(Draw({"", ".a", "a..b"}), "├── \"\" #0\n│   └── a #1\n└── a\n    └── \"\"\n        └── b #2\n");
}

TEST(TreeLines, SplitsAtTheSeparatorAsked) {
  EXPECT_EQ(Draw({"a.b/c"}, {.separator = '/'}), "└── a.b\n    └── c #0\n");
}

TEST(TreeLines, BoundsTheDepth) {
  EXPECT_EQ(Draw({"a.b.c.d", "a.b.c.e"}, {.max_depth = 2}), "└── a\n    ├── b.c.d #0\n    └── b.c.e #1\n");
  EXPECT_EQ(Draw({"a.b"}, {.max_depth = 0}), "└── a.b #0\n");
  EXPECT_EQ(TreeLines(std::vector<std::string>{std::string(60'000, '.')}).size(), 16u);
}

TEST(TreeLines, EscapesLabels) { EXPECT_EQ(Draw({"a\n\x1b"}), "└── a\\n\\x1b #0\n"); }

TEST(TreeLines, ShowsEachOfManyNamesOnce) {
  std::vector<std::string> names;
  for (int i = 0; i < 20'000; ++i) names.push_back("p" + std::to_string(i % 100) + ".q" + std::to_string(i));
  std::vector<bool> seen(names.size());
  for (const TreeLine& line : TreeLines(names)) {
    if (line.item) {
      EXPECT_FALSE(seen[*line.item]);
      seen[*line.item] = true;
    }
  }
  EXPECT_EQ(std::count(seen.begin(), seen.end(), true), 20'000);
}

}  // namespace
}  // namespace dcpctl::text

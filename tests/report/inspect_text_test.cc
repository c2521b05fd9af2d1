#include "report/inspect_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <string>

#include "tests/report/catalogs.h"

namespace dcpctl::report {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

template <auto Write>
std::string Text(const InspectReport& report, const TextStyle& style = {}) {
  std::ostringstream out;
  Write(out, report, style);
  return out.str();
}

std::string Keys(bool escaped) {
  std::ostringstream out;
  WriteKeys(out, SmallReport(), escaped);
  return out.str();
}

TEST(InspectText, TableBeginsWithTotalsAndEscapesKeys) {
  EXPECT_EQ(Text<WriteTable>(SmallReport()),
            "ckpt: DCP checkpoint, version 1.0.0, 2 ranks\n"
            "2 tensors in 3 chunks, 2 objects; 16 elements, 68 B; 5 files, 5.2 KiB\n"
            "\n"
            "KEY               DTYPE    SHAPE   BYTES  CHUNKS\n"
            "model.net.weight  float32  [5, 3]   60 B       2\n"
            "optim.steps.0     int64    []        8 B       1\n"
            "epoch             object           431 B\n"
            "odd\\n\\x1b[31mkey  object           431 B\n");
}

TEST(InspectText, NamesWhatObjectsNeed) {  // C75
  InspectReport report = SmallReport();
  report.foreign_names = {{.name = "acme.State", .entries = 2}, {.name = "os.system", .entries = 1, .refused = true}};
  EXPECT_THAT(Text<WriteTable>(report),
              HasSubstr("\nforeign names in objects: acme.State in 2 objects, os.system in 1 object "
                        "(refused by conversions)\n\n"));
  for (const char* name : {"x.a", "x.b", "x.c", "x.\x1b"}) report.foreign_names.push_back({.name = name, .entries = 1});
  EXPECT_THAT(RenderTotals(report), HasSubstr(", x.c in 1 object and 1 more\n"));
  report.entry = report.catalog.entries[2];
  EXPECT_THAT(Text<WriteEntry>(report),
              HasSubstr("\nforeign names  acme.State, os.system (refused by conversions), x.a"));
}

TEST(InspectText, KeysComeAsTheyAreOrEscaped) {
  EXPECT_EQ(Keys(false), "model.net.weight\noptim.steps.0\nepoch\nodd\n\x1b[31mkey\n");
  EXPECT_THAT(Keys(true), EndsWith("epoch\nodd\\n\\x1b[31mkey\n"));
}

TEST(InspectText, KeysGiveWayWhenTheTerminalIsNarrow) {
  InspectReport report = SmallReport();
  const std::string key(300, 'k');
  report.catalog.tensors[0].key = key;
  EXPECT_THAT(Text<WriteTable>(report), HasSubstr(std::string(300, 'k')));
  const std::string narrow = Text<WriteTable>(report, {.width = 60});
  EXPECT_THAT(narrow, Not(HasSubstr(std::string(40, 'k'))));
  EXPECT_THAT(narrow, HasSubstr("…"));
  EXPECT_THAT(narrow, HasSubstr("float32  [5, 3]   60 B       2\n"));
}

TEST(InspectText, ShowsTransformsWhereThereAreSome) {  // C36
  InspectReport report = SmallReport();
  report.catalog.transform_chains.push_back({"com.acme.seal/1"});
  report.catalog.chunks[0].transforms = 1;
  EXPECT_THAT(Text<WriteTable>(report), HasSubstr("TRANSFORMS"));
  EXPECT_THAT(Text<WriteTable>(report), HasSubstr("2  com.acme.seal/1\n"));
}

TEST(InspectText, TreeFollowsPathsAndNotDots) {
  EXPECT_THAT(Text<WriteTree>(SmallReport()), EndsWith("\n\n"
                                                       ".                     68 B  2 tensors, 2 objects\n"
                                                       "├── model             60 B  1 tensor\n"
                                                       "│   └── net.weight    60 B  float32 [5, 3]\n"
                                                       "├── optim              8 B  1 tensor\n"
                                                       "│   └── steps          8 B  1 tensor\n"
                                                       "│       └── [0]        8 B  int64 []\n"
                                                       "├── epoch                   object\n"
                                                       "└── odd\\n\\x1b[31mkey        object\n"));
}

TEST(InspectText, TreeBoundsDepth) {
  InspectReport report = SmallReport();
  report.catalog.paths[report.catalog.tensors[0].path] = KeyPath(100'000, PathElement(std::string("d")));
  EXPECT_THAT(Text<WriteTree>(report, {.width = 80}), HasSubstr("float32 [5, 3]"));
}

TEST(InspectText, FilesAreGroupedByRankAndExplained) {  // C13, C25, C26
  EXPECT_THAT(Text<WriteFiles>(SmallReport()),
              EndsWith("FILE          RANK  NUMBER  ENTRIES    BYTES  NOTE\n"
                       "__0_0.distcp     0       0        3  2.8 KiB\n"
                       "__1_0.distcp     1       0        1   1000 B\n"
                       "__1_1.distcp     1       1        0      0 B  empty\n"
                       "__4_0.distcp     4       0        0      7 B  not referenced\n"
                       ".metadata                         0  1.4 KiB  metadata\n"
                       "\n"
                       "__1_1.distcp is what rank 1 of the save wrote as its file number 1, counting from 0.\n"
                       "A rank writes one file for each writer thread, or one for each entry. Any number\n"
                       "of files is fine, and so are empty ones.\n"));
}

TEST(InspectText, ChunksSayBoxAndPlace) {
  EXPECT_THAT(Text<WriteChunks>(SmallReport()),
              EndsWith("KEY               BOX         FILE          OFFSET  LENGTH\n"
                       "model.net.weight  [0:3, 0:3]  __0_0.distcp     862    1000\n"
                       "model.net.weight  [3:5, 0:3]  __1_0.distcp       0    1000\n"
                       "optim.steps.0     []          __0_0.distcp    1862    1000\n"
                       "epoch             object      __0_0.distcp       0     431\n"
                       "odd\\n\\x1b[31mkey  object      __0_0.distcp       0     431\n"));
}

TEST(InspectText, RecordsWithoutAPlaceShowNone) {
  InspectReport report = SmallReport();
  report.catalog.chunks[0].file = kNoFile;
  EXPECT_THAT(Text<WriteChunks>(report), HasSubstr("[0:3, 0:3]                   862"));
}

TEST(InspectText, EntryShowsATensorInFull) {
  InspectReport report = SmallReport();
  report.entry = report.catalog.entries[0];
  EXPECT_EQ(Text<WriteEntry>(report),
            "key            model.net.weight\n"
            "path           model / net.weight\n"
            "dtype          float32\n"
            "shape          [5, 3]\n"
            "bytes          60\n"
            "requires_grad  false\n"
            "chunks         2\n"
            "\n"
            "BOX         FILE          OFFSET  LENGTH\n"
            "[0:3, 0:3]  __0_0.distcp     862    1000\n"
            "[3:5, 0:3]  __1_0.distcp       0    1000\n");
}

TEST(InspectText, EntryShowsAnObjectAsData) {  // C74, C75
  InspectReport report = SmallReport();
  report.entry = report.catalog.entries[2];
  SetValue(report.catalog.objects[0], [](pickle::Document& document) {
    const pickle::Value list = document.List();
    document.Append(list, document.Int(20));
    document.Append(list, document.Call(document.Global("acme", "Callback"), {document.String("a\nb")}));
    return list;
  });
  EXPECT_EQ(Text<WriteEntry>(report),
            "key            epoch\n"
            "path           epoch\n"
            "type           list\n"
            "stored         431 bytes at 0 of __0_0.distcp\n"
            "value          [20, acme.Callback('a\\nb')]\n");
}

TEST(InspectText, EntryShowsTensorsInsideObjects) {
  InspectReport report = SmallReport();
  report.entry = report.catalog.entries[2];
  SetValue(report.catalog.objects[0], [](pickle::Document& d) {
    const pickle::Value storage = d.PersistentId(d.Tuple(
        {d.String("storage"), d.Global("torch", "BFloat16Storage"), d.String("0"), d.String("cpu"), d.Int(12)}));
    return d.Tuple({d.Call(
        d.Global("torch._utils", "_rebuild_tensor_v2"),
        {storage, d.Int(0), d.Tuple({d.Int(3), d.Int(4)}), d.Tuple({d.Int(4), d.Int(1)}), d.Bool(false), d.None()})});
  });
  EXPECT_THAT(Text<WriteEntry>(report), HasSubstr("value          (tensor(bfloat16, [3, 4]),)\n"));
}

}  // namespace
}  // namespace dcpctl::report

// Copying graphs between documents.
#include <gtest/gtest.h>

#include "tests/pickle/graph.h"
#include "tests/support/result.h"

namespace dcpctl::pickle {
namespace {

using namespace std::string_view_literals;

TEST(PickleImporter, KeepsTheShape) {
  const std::string_view bytes =
      "(]q\0h\0"
      "a"                                     // a list in itself
      "}q\x01(h\0K\x01\x8c\x01kJ\0\0\0\x50u"  // a dict with the list as a key, and a wide integer
      "cm\nC\n)\x81q\x02h\x01"
      "bK\x05"
      "a"                      // an object with the dict as state, and an item
      "cm\nC\nN\x85h\x01\x92"  // one with keyword arguments
      "\x8f(h\x02\x90(N\x91"   // a set and a frozenset
      "C\x02\0\xff\x96\x01\0\0\0\0\0\0\0zG\x3f\xf8\0\0\0\0\0\0\x8a\x09\0\0\0\0\0\0\0\0\x01"
      "N\x85Q\x88t."sv;
  const Document source = MustRead(bytes);
  Document target;
  Document::Importer importer(target, nullptr);
  const Value copy = test::Value(importer.Import(source.root()));
  EXPECT_EQ(Shape(copy), Shape(source.root()));
}

TEST(PickleImporter, NeedsNothingOfTheSourceAfterwards) {
  Document target;
  std::optional<Value> copy;
  {
    const std::string bytes =
        "\x8c\x03"
        "abcC\x01z\x86.";
    const Document source = MustRead(bytes);
    Document::Importer importer(target, nullptr);
    copy = test::Value(importer.Import(source.root()));
  }
  EXPECT_EQ(Print(*copy), "('abc', b'z')");
}

TEST(PickleImporter, SharesAcrossImports) {
  const Document source = MustRead("]q\0h\0\x85h\0\x87."sv);
  Document target;
  Document::Importer importer(target, nullptr);
  const Value first = test::Value(importer.Import(source.root()[0]));
  const Value all = test::Value(importer.Import(source.root()));
  EXPECT_EQ(all[0].identity(), first.identity());
  EXPECT_EQ(all[1][0].identity(), first.identity());
  Document::Importer other(target, nullptr);
  EXPECT_NE(test::Value(other.Import(source.root()[0])).identity(), first.identity());
}

TEST(PickleImporter, KeepsDocumentsApart) {
  const Document one = MustRead(
      "]N\x85"
      "a.");
  const Document two = MustRead(
      "]\x88\x85"
      "a.");
  Document target;
  Document::Importer importer(target, nullptr);
  const Value first = test::Value(importer.Import(one.root()));
  const Value second = test::Value(importer.Import(two.root()));
  EXPECT_EQ(Print(first), "[(None,)]");
  EXPECT_EQ(Print(second), "[(True,)]");
}

TEST(PickleImporter, CopiesWithinOneDocument) {
  Document document;
  Value list = document.List();
  for (int i = 0; i < 100; ++i) document.Append(list, document.Tuple({document.Int(i)}));
  Document::Importer importer(document, nullptr);
  const Value copy = test::Value(importer.Import(list));
  EXPECT_NE(copy.identity(), list.identity());
  EXPECT_EQ(Shape(copy), Shape(list));
}

TEST(PickleImporter, MapsPersistentIds) {
  const Document source = MustRead("(K\x05\x85QK\x06\x85Qt.");
  Document target;
  Document::Importer importer(target, [](Value id, Document& into) -> Result<Value> {
    return into.Tuple({into.String("key"), into.Int(id[0].AsInt() * 10)});
  });
  const Value copy = test::Value(importer.Import(source.root()));
  EXPECT_EQ(Print(copy), "(<persistent id ('key', 50)>, <persistent id ('key', 60)>)");
}

TEST(PickleImporter, LetsTheMapperImport) {
  const Document source = MustRead(
      "(](K\x01K\x02"
      "e\x85Q]t.");
  Document target;
  Document::Importer* running = nullptr;
  Document::Importer importer(target, [&](Value id, Document& into) -> Result<Value> {
    return into.Tuple({test::Value(running->Import(id))});
  });
  running = &importer;
  EXPECT_EQ(Print(test::Value(importer.Import(source.root()))), "(<persistent id (([1, 2],),)>, [])");
}

TEST(PickleImporter, PassesErrorsOfTheMapperOn) {
  const Document source = MustRead("N\x85Q.");
  Document target;
  Document::Importer importer(target,
                              [](Value, Document&) -> Result<Value> { return Fail(ErrorKind::kMismatch, "no"); });
  EXPECT_EQ(test::ErrorOf(importer.Import(source.root())).kind(), ErrorKind::kMismatch);
}

TEST(PickleImporter, LimitsNesting) {
  Limits limits;
  limits.pickle_depth = 50;
  const auto import = [&](size_t depth) {
    const Document source = MustRead(")" + std::string(depth, '\x85') + ".");
    Document target;
    Document::Importer importer(target, nullptr, limits);
    return importer.Import(source.root()).has_value();
  };
  EXPECT_TRUE(import(50));
  EXPECT_FALSE(import(51));
}

}  // namespace
}  // namespace dcpctl::pickle

// Each opcode, in bytes written here, does what pickletools says of it.
#include <gtest/gtest.h>

#include "tests/pickle/graph.h"
#include "tests/support/result.h"

namespace dcpctl::pickle {
namespace {

using namespace std::string_view_literals;

struct Case {
  const char* name;
  std::string_view bytes;
  std::string_view printed;
  Kind kind;
};

void PrintTo(const Case& one, std::ostream* out) { *out << one.name; }

class PickleOpcode : public testing::TestWithParam<Case> {};

TEST_P(PickleOpcode, IsRead) {
  const Document document = MustRead(GetParam().bytes);
  EXPECT_EQ(Print(document.root()), GetParam().printed);
  EXPECT_EQ(document.root().kind(), GetParam().kind);
}

// clang-format off: one case a line
constexpr Case kScalars[] = {
    {"NONE", "N."sv, "None", Kind::kNone},
    {"NEWTRUE", "\x88."sv, "True", Kind::kBool},
    {"NEWFALSE", "\x89."sv, "False", Kind::kBool},
    {"INT true", "I01\n."sv, "True", Kind::kBool},
    {"INT false", "I00\n."sv, "False", Kind::kBool},
    {"INT", "I-12\n."sv, "-12", Kind::kInt},
    {"INT hexadecimal", "I0x1F\n."sv, "31", Kind::kInt},
    {"INT octal", "I0o17\n."sv, "15", Kind::kInt},
    {"INT big", "I18446744073709551616\n."sv, "18446744073709551616", Kind::kBigInt},
    {"LONG", "L12L\n."sv, "12", Kind::kInt},
    {"LONG 1 is no bool", "L01L\n."sv, "1", Kind::kInt},
    {"BININT1", "K\xff."sv, "255", Kind::kInt},
    {"BININT2", "M\x01\x02."sv, "513", Kind::kInt},
    {"BININT", "J\xfe\xff\xff\xff."sv, "-2", Kind::kInt},
    {"LONG1 empty", "\x8a\0."sv, "0", Kind::kInt},
    {"LONG1 negative", "\x8a\x01\x80."sv, "-128", Kind::kInt},
    {"LONG1 longer than needed", "\x8a\x0a\x05\0\0\0\0\0\0\0\0\0."sv, "5", Kind::kInt},
    {"LONG1 big", "\x8a\x09\0\0\0\0\0\0\0\0\x01."sv, "18446744073709551616", Kind::kBigInt},
    {"LONG4", "\x8b\x02\0\0\0\0\x01."sv, "256", Kind::kInt},
    {"FLOAT", "F-1.5e3\n."sv, "-1500.0", Kind::kFloat},
    {"FLOAT plus", "F+2\n."sv, "2.0", Kind::kFloat},
    {"FLOAT infinite", "F-inf\n."sv, "-inf", Kind::kFloat},
    {"FLOAT too large", "F1e999\n."sv, "inf", Kind::kFloat},
    {"FLOAT too small", "F-1e-999\n."sv, "-0.0", Kind::kFloat},
    {"BINFLOAT is big-endian", "G\x3f\xf8\0\0\0\0\0\0."sv, "1.5", Kind::kFloat},
};

constexpr Case kTexts[] = {
    {"STRING", "S'it\\'s\\n\\x41\\101'\n."sv, R"("it's\nAA")", Kind::kString},
    {"STRING double quotes", "S\"a\"\n."sv, "'a'", Kind::kString},
    {"STRING keeps unknown escapes", "S'\\q'\n."sv, R"('\\q')", Kind::kString},
    {"STRING not UTF-8", "S'\\xff'\n."sv, R"(b'\xff')", Kind::kBytes},
    {"BINSTRING", "T\x02\0\0\0ab."sv, "'ab'", Kind::kString},
    {"SHORT_BINSTRING", "U\x02\xc3\xa9."sv, "'\xc3\xa9'", Kind::kString},
    {"SHORT_BINSTRING not UTF-8", "U\x01\xe9."sv, R"(b'\xe9')", Kind::kBytes},
    {"UNICODE", "Va\\u20ac\\U0001f600\xe9\n."sv, "'a\xe2\x82\xac\xf0\x9f\x98\x80\xc3\xa9'", Kind::kString},
    {"UNICODE backslashes in pairs", "V\\\\u0041\\x\n."sv, R"('\\\\u0041\\x')", Kind::kString},
    {"UNICODE surrogate", "V\\ud800\n."sv, R"('\ud800')", Kind::kString},
    {"UNICODE empty", "V\n."sv, "''", Kind::kString},
    {"BINUNICODE", "X\x01\0\0\0a."sv, "'a'", Kind::kString},
    {"BINUNICODE surrogate", "X\x03\0\0\0\xed\xa0\x80."sv, R"('\ud800')", Kind::kString},
    {"SHORT_BINUNICODE",
     "\x8c\x01"
     "b."sv,
     "'b'", Kind::kString},
    {"BINUNICODE8", "\x8d\x01\0\0\0\0\0\0\0c."sv, "'c'", Kind::kString},
    {"BINBYTES", "B\x01\0\0\0\xff."sv, R"(b'\xff')", Kind::kBytes},
    {"SHORT_BINBYTES", "C\0."sv, "b''", Kind::kBytes},
    {"BINBYTES8", "\x8e\x01\0\0\0\0\0\0\0d."sv, "b'd'", Kind::kBytes},
    {"BYTEARRAY8", "\x96\x01\0\0\0\0\0\0\0e."sv, "bytearray(b'e')", Kind::kByteArray},
};

constexpr Case kContainers[] = {
    {"EMPTY_TUPLE", ")."sv, "()", Kind::kTuple},
    {"TUPLE1", "N\x85."sv, "(None,)", Kind::kTuple},
    {"TUPLE2", "NK\x01\x86."sv, "(None, 1)", Kind::kTuple},
    {"TUPLE3", "NNK\x01\x87."sv, "(None, None, 1)", Kind::kTuple},
    {"TUPLE", "(K\x01K\x02K\x03K\x04t."sv, "(1, 2, 3, 4)", Kind::kTuple},
    {"TUPLE of nothing", "(t."sv, "()", Kind::kTuple},
    {"EMPTY_LIST", "]."sv, "[]", Kind::kList},
    {"LIST", "(K\x01K\x02l."sv, "[1, 2]", Kind::kList},
    {"APPEND",
     "]K\x01"
     "aK\x02"
     "a."sv,
     "[1, 2]", Kind::kList},
    {"APPENDS twice",
     "](K\x01K\x02"
     "e(K\x03"
     "e."sv,
     "[1, 2, 3]", Kind::kList},
    {"APPENDS of nothing", "](e."sv, "[]", Kind::kList},
    {"EMPTY_DICT", "}."sv, "{}", Kind::kDict},
    {"DICT", "(K\x01Nd."sv, "{1: None}", Kind::kDict},
    {"SETITEM", "}K\x01Ns."sv, "{1: None}", Kind::kDict},
    {"SETITEMS", "}(K\x01NK\x02\x88u."sv, "{1: None, 2: True}", Kind::kDict},
    {"EMPTY_SET", "\x8f."sv, "set()", Kind::kSet},
    {"ADDITEMS", "\x8f(K\x01K\x02\x90."sv, "{1, 2}", Kind::kSet},
    {"FROZENSET", "(K\x01\x91."sv, "frozenset({1})", Kind::kFrozenSet},
};

constexpr Case kObjects[] = {
    {"GLOBAL", "cmod\nName\n."sv, "mod.Name", Kind::kGlobal},
    {"STACK_GLOBAL",
     "\x8c\x03mod\x8c\x03"
     "A.B\x93."sv,
     "mod.A.B", Kind::kGlobal},
    {"REDUCE", "cmod\nf\nK\x01\x85R."sv, "mod.f(1)", Kind::kObject},
    {"REDUCE of an object", "cmod\nf\n)R)R."sv, "mod.f()()", Kind::kObject},
    {"NEWOBJ", "cmod\nC\n)\x81."sv, "mod.C()", Kind::kObject},
    {"NEWOBJ_EX", "cmod\nC\nN\x85}\x8c\x01kK\x02s\x92."sv, "mod.C(None, k=2)", Kind::kObject},
    {"BUILD", "cmod\nC\n)\x81}\x8c\x01xK\x02sb."sv, "mod.C {'x': 2}", Kind::kObject},
    {"INST", "(K\x01K\x02imod\nC\n."sv, "mod.C(1, 2)", Kind::kObject},
    {"OBJ", "(cmod\nC\nK\x01o."sv, "mod.C(1)", Kind::kObject},
    {"APPEND to an object",
     "cmod\nL\n)\x81K\x01"
     "a."sv,
     "mod.L [1]", Kind::kObject},
    {"APPENDS to an object",
     "cmod\nL\n)\x81(K\x01K\x02"
     "e."sv,
     "mod.L [1, 2]", Kind::kObject},
    {"SETITEMS of an object", "cmod\nD\n)\x81(K\x01Nu."sv, "mod.D {1: None}", Kind::kObject},
    {"ADDITEMS to an object", "cmod\nS\n)\x81(K\x01\x90."sv, "mod.S {1}", Kind::kObject},
    {"operations keep their order", "cmod\nD\n)\x81K\x01Ns}bK\x02Ns."sv, "mod.D {1: None} {} {2: None}", Kind::kObject},
    {"PERSID", "Pkey 1\n."sv, "<persistent id 'key 1'>", Kind::kPersistentId},
    {"BINPERSID", "N\x85Q."sv, "<persistent id (None,)>", Kind::kPersistentId},
    {"BINPERSID of a module is its class", "(\x8c\x06modulecmod\nC\nNNtQ."sv, "mod.C", Kind::kGlobal},
    {"BINPERSID of a module without class", "(\x8c\x06moduleNNNtQ."sv, "<persistent id ('module', None, None, None)>",
     Kind::kPersistentId},
    {"BINPERSID of a short module", "\x8c\x06modulecmod\nC\n\x86Q."sv, "<persistent id ('module', mod.C)>",
     Kind::kPersistentId},
};

constexpr Case kMachine[] = {
    {"PROTO", "\x80\x05N."sv, "None", Kind::kNone},
    {"FRAME", "\x95\x02\0\0\0\0\0\0\0N."sv, "None", Kind::kNone},
    {"POP",
     "NK\x01"
     "0."sv,
     "None", Kind::kNone},
    {"POP takes a mark", "N(0."sv, "None", Kind::kNone},
    {"POP_MARK",
     "N(K\x01K\x02"
     "1."sv,
     "None", Kind::kNone},
    {"DUP",
     "K\x01"
     "2\x86."sv,
     "(1, 1)", Kind::kTuple},
    {"PUT and GET", "]p7\ng7\n\x86."sv, "([], [])", Kind::kTuple},
    {"BINPUT and BINGET", "]q\x07h\x07\x86."sv, "([], [])", Kind::kTuple},
    {"LONG_BINPUT and LONG_BINGET", "]r\0\0\0\x70j\0\0\0\x70\x86."sv, "([], [])", Kind::kTuple},
    {"MEMOIZE", "K\x01\x94K\x02\x94h\0h\x01\x86\x87."sv, "(1, 2, (1, 2))", Kind::kTuple},
    {"PUT replaces", "K\x01q\0K\x02q\0h\0\x87."sv, "(1, 2, 2)", Kind::kTuple},
};

// clang-format on

INSTANTIATE_TEST_SUITE_P(Scalars, PickleOpcode, testing::ValuesIn(kScalars));
INSTANTIATE_TEST_SUITE_P(Texts, PickleOpcode, testing::ValuesIn(kTexts));
INSTANTIATE_TEST_SUITE_P(Containers, PickleOpcode, testing::ValuesIn(kContainers));
INSTANTIATE_TEST_SUITE_P(Objects, PickleOpcode, testing::ValuesIn(kObjects));
INSTANTIATE_TEST_SUITE_P(Machine, PickleOpcode, testing::ValuesIn(kMachine));

TEST(PickleReader, KeepsIdentityThroughTheMemo) {
  const Document document = MustRead(
      "]"     // a list
      "\x94"  // memo entry 0
      "]"     // another
      "h\0"   // the first again
      "\x87."sv);
  const Value root = document.root();
  EXPECT_EQ(root[0].identity(), root[2].identity());
  EXPECT_NE(root[0].identity(), root[1].identity());
}

TEST(PickleReader, ReadsCycles) {
  const Document document = MustRead(
      "]q\0h\0"
      "a."sv);
  const Value list = document.root();
  ASSERT_EQ(list.size(), 1u);
  EXPECT_EQ(list[0].identity(), list.identity());
}

TEST(PickleReader, MemoizeCountsEntriesWhateverTheirIndices) {
  const Document document = MustRead(
      "K\x01r\xff\xff\xff\xff"  // 1 under a far index: entry 0 of the count
      "K\x02\x94"               // 2: MEMOIZE puts it under 1
      "h\x01"                   // so this is 2
      "j\xff\xff\xff\xff"       // and this 1
      "\x86\x87."sv);
  EXPECT_EQ(Print(document.root()), "(1, 2, (2, 1))");
}

TEST(PickleReader, ReadsMemoThatStartsAtOne) {
  std::string bytes = "(";
  for (int i = 1; i < 200; ++i) bytes += std::string("]q") + static_cast<char>(i);
  const Document document = MustRead(bytes + "h\xc7t.");
  EXPECT_EQ(document.root().size(), 200u);
  EXPECT_EQ(document.root()[199].identity(), document.root()[198].identity());
}

TEST(PickleReader, SaysWhereGlobalsAndObjectsAre) {
  ReadOptions options;
  options.base_offset = 1000;
  const std::string_view bytes = "cmod\nf\n)R."sv;
  const Document document = test::Value(ReadPickle(test::BytesOf(bytes), options));
  EXPECT_EQ(document.root().offset(), 1008u);             // REDUCE
  EXPECT_EQ(document.root().callable().offset(), 1000u);  // GLOBAL
  EXPECT_EQ(document.root().args().offset(), 0u);
}

TEST(PickleReader, ReadsFromTheFront) {
  uint64_t consumed = 0;
  const Document document = test::Value(ReadPickle(test::BytesOf("K\x01.rest"), ReadOptions{}, &consumed));
  EXPECT_EQ(consumed, 3u);
  EXPECT_EQ(document.root().AsInt(), 1);
}

TEST(PickleReader, BorrowsText) {
  const std::string bytes = "\x8c\x05hello.";
  const Document document = MustRead(bytes);
  EXPECT_EQ(document.root().AsText().data(), bytes.data() + 2);
}

TEST(PickleReader, ListsGlobalsThatTheRootDoesNotReach) {
  const Document document = MustRead("cos\nsystem\n0cmod\nName\n."sv);
  const std::vector<Value> globals = document.Globals();
  ASSERT_EQ(globals.size(), 2u);
  EXPECT_EQ(globals[0].module(), "os");
  EXPECT_EQ(globals[1].identity(), document.root().identity());
}

TEST(PickleReader, SpendsLittleMemoryOnNodes) {
  const std::string bytes = "(" + std::string(100'000, '}') + "t.";  // a tuple of empty dicts
  const Document document = MustRead(bytes);
  EXPECT_LT(document.memory_bytes(), 13 * bytes.size());  // two words each, and one in the tuple
}

}  // namespace
}  // namespace dcpctl::pickle

// What the reader refuses, how it says so and where; and its limits, at the limit and one above.
#include <gtest/gtest.h>

#include "tests/pickle/graph.h"
#include "tests/support/result.h"

namespace dcpctl::pickle {
namespace {

using namespace std::string_view_literals;

struct BadCase {
  std::string_view bytes;
  std::string_view message;
};

void PrintTo(const BadCase& bad, std::ostream* out) { *out << bad.message; }

ReadOptions InFile() {
  ReadOptions options;
  options.file = "F";
  return options;
}

class PickleCorrupt : public testing::TestWithParam<BadCase> {};

TEST_P(PickleCorrupt, IsRefused) {
  const Error error = test::ErrorOf(ReadPickle(test::BytesOf(GetParam().bytes), InFile()));
  EXPECT_EQ(error.kind(), ErrorKind::kCorrupt);
  EXPECT_EQ(error.ToString(), GetParam().message);
}

constexpr BadCase kCutOff[] = {
    {""sv, "F:0x0: error: pickle ends after 0 bytes, expected a STOP opcode"},
    {"\x80\x02N"sv, "F:0x3: error: pickle ends after 3 bytes, expected a STOP opcode"},
    {"\x80"sv, "F:0x0: error: pickle ends in an operand: 0 bytes left, expected 1 (opcode PROTO)"},
    {"NJ\x01\x02"sv, "F:0x1: error: pickle ends in an operand: 2 bytes left, expected 4 (opcode BININT)"},
    {"G\0\0"sv, "F:0x0: error: pickle ends in an operand: 2 bytes left, expected 8 (opcode BINFLOAT)"},
    {"X\xff\xff\xff\xff."sv,
     "F:0x0: error: pickle ends in an operand: 1 bytes left, expected 4294967295 (opcode BINUNICODE)"},
    {"\x8d\xff\xff\xff\xff\xff\xff\xff\xff."sv,
     "F:0x0: error: pickle ends in an operand: 1 bytes left, expected 18446744073709551615 (opcode BINUNICODE8)"},
    {"\x8a\x05\x01."sv, "F:0x0: error: pickle ends in an operand: 2 bytes left, expected 5 (opcode LONG1)"},
    {"\x95\x03\0\0\0\0\0\0\0N."sv, "F:0x0: error: frame has 3 bytes, expected at most the 2 left (opcode FRAME)"},
    {"I12"sv, "F:0x0: error: pickle ends in a line of text, expected a newline (opcode INT)"},
    {"cmod\nName"sv, "F:0x0: error: pickle ends in a line of text, expected a newline (opcode GLOBAL)"},
    {"N.N"sv, "F:0x2: error: 1 bytes follow the pickle, expected none"},
};

constexpr BadCase kBadOperands[] = {
    {"\0."sv, "F:0x0: error: opcode is 0x00, expected one of pickle protocols 0 to 5"},
    {"N\xff."sv, "F:0x1: error: opcode is 0xff, expected one of pickle protocols 0 to 5"},
    {"Iten\n."sv, "F:0x0: error: integer is \"ten\", expected a numeral (opcode INT)"},
    {"I\n."sv, "F:0x0: error: integer is \"\", expected a numeral (opcode INT)"},
    {"L1x\n."sv, "F:0x0: error: integer is \"1x\", expected a numeral (opcode LONG)"},
    {"F1.5x\n."sv, "F:0x0: error: float is \"1.5x\", expected a numeral (opcode FLOAT)"},
    {"F--1\n."sv, "F:0x0: error: float is \"--1\", expected a numeral (opcode FLOAT)"},
    {"Sabc\n."sv, "F:0x0: error: string is \"abc\", expected a quoted Python literal (opcode STRING)"},
    {"S'\n."sv, "F:0x0: error: string is \"'\", expected a quoted Python literal (opcode STRING)"},
    {"S'\\x4'\n."sv, "F:0x0: error: string is \"'\\\\x4'\", expected a quoted Python literal (opcode STRING)"},
    {"V\\u12\n."sv, "F:0x0: error: text is \"\\\\u12\", expected raw-unicode-escape (opcode UNICODE)"},
    {"V\\U00110000\n."sv, "F:0x0: error: text is \"\\\\U00110000\", expected raw-unicode-escape (opcode UNICODE)"},
    {"X\x01\0\0\0\xff."sv, "F:0x0: error: text is not UTF-8: \"\\xff\" (opcode BINUNICODE)"},
    {"T\xff\xff\xff\xff."sv, "F:0x0: error: length is -1, expected 0 or more (opcode BINSTRING)"},
    {"\x8b\0\0\0\x80."sv, "F:0x0: error: length is -2147483648, expected 0 or more (opcode LONG4)"},
    {"cmod\n\n."sv, "F:0x0: error: global is \"mod\" \"\", expected names (opcode GLOBAL)"},
    {"gx\n."sv, "F:0x0: error: memo index is \"x\", expected a number (opcode GET)"},
    {"Np-1\n."sv, "F:0x1: error: memo index is \"-1\", expected a number (opcode PUT)"},
};

constexpr BadCase kMisuse[] = {
    {"."sv, "F:0x0: error: stack holds 0 values, expected 1 (opcode STOP)"},
    {"NN."sv, "F:0x2: error: stack holds 2 values and 0 marks at the end, expected one value (opcode STOP)"},
    {"(N."sv, "F:0x2: error: stack holds 1 values and 1 marks at the end, expected one value (opcode STOP)"},
    {"0."sv, "F:0x0: error: stack holds 0 values, expected 1 (opcode POP)"},
    {"2."sv, "F:0x0: error: stack holds 0 values, expected 1 (opcode DUP)"},
    {"N(2."sv, "F:0x2: error: stack holds 0 values above its last mark, expected 1 (opcode DUP)"},
    {"N\x86."sv, "F:0x1: error: stack holds 1 values, expected 2 (opcode TUPLE2)"},
    {"N(N\x86."sv, "F:0x3: error: stack holds 1 values above its last mark, expected 2 (opcode TUPLE2)"},
    {"t."sv, "F:0x0: error: stack has no mark, expected one (opcode TUPLE)"},
    {"N1."sv, "F:0x1: error: stack has no mark, expected one (opcode POP_MARK)"},
    {"(e."sv, "F:0x1: error: stack holds nothing below the mark, expected a container (opcode APPENDS)"},
    {"](Na."sv, "F:0x3: error: stack holds 1 values above its last mark, expected 2 (opcode APPEND)"},
    {"NNa."sv, "F:0x2: error: target is None, expected list or an object (opcode APPEND)"},
    {"]NNs."sv, "F:0x3: error: target is list, expected dict or an object (opcode SETITEM)"},
    {"](N\x90."sv, "F:0x3: error: target is list, expected set or an object (opcode ADDITEMS)"},
    {"}}b."sv, "F:0x2: error: target is dict, expected an object (opcode BUILD)"},
    {"cm\nn\n}b."sv, "F:0x6: error: target is global, expected an object (opcode BUILD)"},
    {"}(Nu."sv, "F:0x3: error: 1 values to set, expected keys and values in turn (opcode SETITEMS)"},
    {"(Nd."sv, "F:0x2: error: 1 values for a dict, expected keys and values in turn (opcode DICT)"},
    {"N)R."sv, "F:0x2: error: call of None, expected a global or an object (opcode REDUCE)"},
    {"cm\nn\nNR."sv, "F:0x6: error: arguments are None, expected tuple (opcode REDUCE)"},
    {"cm\nn\n)N\x92."sv, "F:0x7: error: keyword arguments are None, expected dict (opcode NEWOBJ_EX)"},
    {"cm\nn\n\x81."sv, "F:0x5: error: stack holds 1 values, expected 2 (opcode NEWOBJ)"},
    {"NN\x93."sv, "F:0x2: error: global is named by None and None, expected str and str (opcode STACK_GLOBAL)"},
    {"(o."sv, "F:0x1: error: stack holds 0 values above its last mark, expected 1 (opcode OBJ)"},
    {"im\nn\n."sv, "F:0x0: error: stack has no mark, expected one (opcode INST)"},
    {"h\x07."sv, "F:0x0: error: memo entry 7 is not there, expected one of 0 entries put before (opcode BINGET)"},
    {"]q\0q\x02h\x01."sv,
     "F:0x5: error: memo entry 1 is not there, expected one of 2 entries put before (opcode BINGET)"},
    {"Nj\xff\xff\xff\xff."sv,
     "F:0x1: error: memo entry 4294967295 is not there, expected one of 0 entries put before (opcode LONG_BINGET)"},
    {"q\0."sv, "F:0x0: error: stack holds 0 values, expected 1 (opcode BINPUT)"},
    {"\x94."sv, "F:0x0: error: stack holds 0 values, expected 1 (opcode MEMOIZE)"},
};

INSTANTIATE_TEST_SUITE_P(CutOff, PickleCorrupt, testing::ValuesIn(kCutOff));
INSTANTIATE_TEST_SUITE_P(BadOperands, PickleCorrupt, testing::ValuesIn(kBadOperands));
INSTANTIATE_TEST_SUITE_P(Misuse, PickleCorrupt, testing::ValuesIn(kMisuse));

TEST(PickleReader, CountsOffsetsFromTheStartOfTheFile) {
  ReadOptions options = InFile();
  options.base_offset = 0x4a2c0;
  EXPECT_EQ(test::ErrorOf(ReadPickle(test::BytesOf("N0."), options)).place().offset, 0x4a2c2u);
}

TEST(PickleReader, RefusesPersistentIdsWhereTheyAreNotAllowed) {
  ReadOptions options = InFile();
  options.allow_persistent_ids = false;
  const Error error = test::ErrorOf(ReadPickle(test::BytesOf("NQ."), options));
  EXPECT_EQ(error.kind(), ErrorKind::kCorrupt);
  EXPECT_EQ(error.place().offset, 1u);
  EXPECT_EQ(test::ErrorOf(ReadPickle(test::BytesOf("Pid\n."), options)).kind(), ErrorKind::kCorrupt);
}

TEST(PickleReader, NamesWhatItDoesNotSupport) {
  const auto message = [](std::string_view bytes) {
    const Error error = test::ErrorOf(ReadPickle(test::BytesOf(bytes), InFile()));
    EXPECT_EQ(error.kind(), ErrorKind::kUnsupported);
    return error.ToString();
  };
  const std::string code = "stands for a class that only the program that wrote it knows";
  EXPECT_EQ(message("\x82\x05."sv), "F:0x0: error: extension code 5 " + code + " (opcode EXT1)");
  EXPECT_EQ(message("\x83\0\x01."sv), "F:0x0: error: extension code 256 " + code + " (opcode EXT2)");
  EXPECT_EQ(message("\x84\0\0\x01\0."sv), "F:0x0: error: extension code 65536 " + code + " (opcode EXT4)");
  EXPECT_EQ(message("\x97."sv),
            "F:0x0: error: pickle refers to a buffer that was handed over beside it (opcode NEXT_BUFFER)");
  EXPECT_EQ(message("N\x98."sv),
            "F:0x1: error: pickle refers to a buffer that was handed over beside it (opcode READONLY_BUFFER)");
  EXPECT_EQ(message("\x80\x06N."sv), "F:0x0: error: pickle protocol is 6, expected at most 5 (opcode PROTO)");
}

TEST(PickleReader, LimitsBytes) {
  ReadOptions options;
  options.limits.pickle_bytes = 4;
  EXPECT_TRUE(ReadPickle(test::BytesOf("NN0."), options).has_value());
  EXPECT_EQ(test::ErrorOf(ReadPickle(test::BytesOf("NN00."), options)).kind(), ErrorKind::kLimit);
}

TEST(PickleReader, LimitsBytesOfAPickleAtTheFront) {
  ReadOptions options;
  options.limits.pickle_bytes = 4;
  uint64_t consumed = 0;
  EXPECT_TRUE(ReadPickle(test::BytesOf("NN0.and more"), options, &consumed).has_value());
  EXPECT_EQ(consumed, 4u);
  EXPECT_EQ(test::ErrorOf(ReadPickle(test::BytesOf("NNN00."), options, &consumed)).kind(), ErrorKind::kLimit);
  EXPECT_EQ(test::ErrorOf(ReadPickle(test::BytesOf("X\x02\0\0\0ab."sv), options, &consumed)).kind(), ErrorKind::kLimit);
  EXPECT_EQ(test::ErrorOf(ReadPickle(test::BytesOf("I1234\n."), options, &consumed)).kind(), ErrorKind::kLimit);
}

TEST(PickleReader, LimitsOpenMarks) {
  ReadOptions options;
  options.limits.pickle_depth = 3;
  EXPECT_TRUE(ReadPickle(test::BytesOf("(((ttt."), options).has_value());
  const Error error = test::ErrorOf(ReadPickle(test::BytesOf("((((tttt."), options));
  EXPECT_EQ(error.kind(), ErrorKind::kLimit);
  EXPECT_EQ(error.place().offset, 3u);
}

TEST(PickleReader, LimitsMemoryOfNodes) {
  ReadOptions options;
  options.limits.pickle_bytes = 200'000;  // allows for a mebibyte of nodes, the least
  const auto empty_dicts = [](size_t count) { return "(" + std::string(count, '}') + "t."; };
  EXPECT_TRUE(ReadPickle(test::BytesOf(empty_dicts(80'000)), options).has_value());
  EXPECT_EQ(test::ErrorOf(ReadPickle(test::BytesOf(empty_dicts(140'000)), options)).kind(), ErrorKind::kLimit);
}

TEST(PickleReader, LimitsScatteredMemoIndices) {
  std::string bytes = "N";
  const auto put = [&](uint32_t index) {
    bytes += 'r';
    for (int shift = 0; shift < 32; shift += 8) bytes += static_cast<char>(index >> shift);
  };
  for (uint32_t i = 1; i <= 1u << 20; ++i) put(i * 1000);
  EXPECT_TRUE(ReadPickle(test::BytesOf(bytes + "."), ReadOptions{}).has_value());
  put(0xffffffff);
  EXPECT_EQ(test::ErrorOf(ReadPickle(test::BytesOf(bytes + "."), ReadOptions{})).kind(), ErrorKind::kLimit);
}

TEST(PickleReader, LimitsDigits) {
  const std::string digits(4300, '7');
  EXPECT_TRUE(ReadPickle(test::BytesOf("L" + digits + "L\n."), ReadOptions{}).has_value());
  EXPECT_EQ(test::ErrorOf(ReadPickle(test::BytesOf("L" + digits + "7L\n."), ReadOptions{})).kind(), ErrorKind::kLimit);
}

TEST(PickleReader, ReadsNestingOfAnyDepth) {
  const std::string bytes = std::string(1'000'000, ']') + std::string(999'999, 'a') + ".";
  EXPECT_EQ(MustRead(bytes).root().size(), 1u);
}

// Every prefix of a pickle is an error, and none reads past its end.
TEST(PickleReader, RefusesEveryPrefix) {
  const std::string_view bytes =
      "\x80\x04\x95\x3a\0\0\0\0\0\0\0]\x94(K\x01M\x01\x02J\1\2\3\4G\0\0\0\0\0\0\0\0\x8c\x02"
      "abC\x01"
      "aI1\nS'a'\nVa\nL1L\n"
      "cm\nn\n)\x81}bh\0\x8a\x01\x01"
      "e."sv;
  ASSERT_TRUE(ReadPickle(test::BytesOf(bytes), ReadOptions{}).has_value());
  for (size_t length = 0; length < bytes.size(); ++length) {
    const std::vector<char> copy(bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(length));
    EXPECT_FALSE(ReadPickle(std::as_bytes(std::span(copy)), ReadOptions{}).has_value()) << length;
  }
}

}  // namespace
}  // namespace dcpctl::pickle

// The bytes that are written, opcode by opcode, and the limits of writing.
#include <gtest/gtest.h>

#include <functional>

#include "tests/pickle/graph.h"
#include "tests/support/result.h"

namespace dcpctl::pickle {
namespace {

using namespace std::string_view_literals;

using Build = std::function<Value(Document&)>;

std::string Written(int protocol, const Build& build) {
  Document document;
  const std::string bytes = MustWrite(build(document), protocol);
  EXPECT_EQ(bytes.substr(0, 2), std::string("\x80") + static_cast<char>(protocol));
  EXPECT_EQ(bytes.back(), '.');
  return bytes.substr(2, bytes.size() - 3);
}

TEST(PickleWriter, ChoosesTheShortestInteger) {
  const auto written = [](int64_t value) { return Written(2, [&](Document& d) { return d.Int(value); }); };
  EXPECT_EQ(written(0), "K\0"sv);
  EXPECT_EQ(written(255), "K\xff"sv);
  EXPECT_EQ(written(256), "M\0\x01"sv);
  EXPECT_EQ(written(65536), "J\0\0\x01\0"sv);
  EXPECT_EQ(written(-1), "J\xff\xff\xff\xff"sv);
  EXPECT_EQ(written(INT32_MIN), "J\0\0\0\x80"sv);
  EXPECT_EQ(written(int64_t{1} << 31), "\x8a\x05\0\0\0\x80\0"sv);
  const std::string big = std::string(255, '\0') + "\x01";
  EXPECT_EQ(Written(2, [&](Document& d) { return d.BigInt(big.substr(1)); }), "\x8a\xff" + big.substr(1));
  EXPECT_EQ(Written(2, [&](Document& d) { return d.BigInt(big); }), std::string("\x8b\0\x01\0\0", 5) + big);
}

TEST(PickleWriter, WritesScalars) {
  EXPECT_EQ(Written(2, [](Document& d) { return d.None(); }), "N");
  EXPECT_EQ(Written(2, [](Document& d) { return d.Bool(true); }), "\x88");
  EXPECT_EQ(Written(4, [](Document& d) { return d.Bool(false); }), "\x89");
  EXPECT_EQ(Written(2, [](Document& d) { return d.Float(1.5); }), "G\x3f\xf8\0\0\0\0\0\0"sv);
  EXPECT_EQ(Written(2, [](Document& d) { return d.String("a"); }), "X\x01\0\0\0a"sv);
  EXPECT_EQ(Written(4, [](Document& d) { return d.String("a"); }),
            "\x8c\x01"
            "a");
  EXPECT_EQ(Written(4, [](Document& d) { return d.String(std::string(256, 'a')); }),
            std::string("X\0\x01\0\0", 5) + std::string(256, 'a'));
}

TEST(PickleWriter, WritesBytesOfProtocol4) {
  EXPECT_EQ(Written(4, [](Document& d) { return d.Bytes("\xff"); }), "C\x01\xff");
  EXPECT_EQ(Written(4, [](Document& d) { return d.Bytes(std::string(256, 'b')); }),
            std::string("B\0\x01\0\0", 5) + std::string(256, 'b'));
  EXPECT_EQ(Written(4, [](Document& d) { return d.ByteArray("x"); }),
            "\x8c\x08"
            "builtins"  // module
            "\x8c\x09"
            "bytearray"      // name
            "\x93"           // STACK_GLOBAL
            "C\x01x\x85R");  // (b'x',) REDUCE
}

TEST(PickleWriter, WritesBytesOfProtocol2AsEncodedText) {
  EXPECT_EQ(Written(2, [](Document& d) { return d.Bytes("a\xff"); }),
            "c_codecs\nencode\n"
            "X\x03\0\0\0a\xc3\xbf"  // each byte a code point
            "X\x06\0\0\0latin1"
            "\x86R"sv);
  EXPECT_EQ(Written(2, [](Document& d) { return d.Bytes(""); }), "c_codecs\nencode\nX\0\0\0\0X\x06\0\0\0latin1\x86R"sv);
  EXPECT_EQ(Written(2, [](Document& d) { return d.ByteArray(""); }), "c__builtin__\nbytearray\n)R");
}

TEST(PickleWriter, PutsItsOwnGlobalsInTheMemoWhenUsedTwice) {
  EXPECT_EQ(Written(2,
                    [](Document& d) {
                      return d.Tuple({d.Bytes("a"), d.Bytes("b")});
                    }),
            "c_codecs\nencode\nq\0"
            "X\x01\0\0\0a"
            "X\x06\0\0\0latin1q\x01"
            "\x86R"
            "h\0X\x01\0\0\0bh\x01\x86R\x86"sv);
}

TEST(PickleWriter, WritesContainers) {
  EXPECT_EQ(Written(2, [](Document& d) { return d.Tuple({}); }), ")");
  EXPECT_EQ(Written(2, [](Document& d) { return d.Tuple({d.None()}); }), "N\x85");
  EXPECT_EQ(Written(2, [](Document& d) { return d.Tuple({d.None(), d.None(), d.None()}); }), "NNN\x87");
  EXPECT_EQ(Written(2, [](Document& d) { return d.Tuple({d.None(), d.None(), d.None(), d.None()}); }), "(NNNNt");
  const auto list = [](size_t count) {
    return [count](Document& d) {
      const Value value = d.List();
      for (size_t i = 0; i < count; ++i) d.Append(value, d.None());
      return value;
    };
  };
  EXPECT_EQ(Written(2, list(0)), "]");
  EXPECT_EQ(Written(2, list(1)), "]Na");
  EXPECT_EQ(Written(2, list(2)), "](NNe");
  EXPECT_EQ(Written(2, list(1000)), "](" + std::string(1000, 'N') + "e");
  EXPECT_EQ(Written(2, list(1001)), "](" + std::string(1000, 'N') + "eNa");
  const auto dict = [](size_t count) {
    return [count](Document& d) {
      const Value value = d.Dict();
      for (size_t i = 0; i < count; ++i) d.SetItem(value, d.None(), d.Bool(true));
      return value;
    };
  };
  EXPECT_EQ(Written(4, dict(1)), "}N\x88s");
  EXPECT_EQ(Written(4, dict(2)), "}(N\x88N\x88u");
}

TEST(PickleWriter, WritesSets) {
  const Build set = [](Document& d) {
    const Value value = d.Set();
    d.Add(value, d.None());
    return value;
  };
  const Build frozen = [](Document& d) { return d.FrozenSet(std::vector{d.None()}); };
  EXPECT_EQ(Written(4, set), "\x8f(N\x90");
  EXPECT_EQ(Written(4, frozen), "(N\x91");
  EXPECT_EQ(Written(2, set), "c__builtin__\nset\n]Na\x85R");
  EXPECT_EQ(Written(2, frozen), "c__builtin__\nfrozenset\n]Na\x85R");
}

TEST(PickleWriter, SpellsGlobalsForTheProtocol) {
  const auto global = [](std::string_view module, std::string_view name) {
    return [=](Document& d) { return d.Global(module, name); };
  };
  EXPECT_EQ(Written(2, global("m.n", "C")), "cm.n\nC\n");
  EXPECT_EQ(Written(4, global("m.n", "C")),
            "\x8c\x03m.n\x8c\x01"
            "C\x93");
  EXPECT_EQ(Written(2, global("builtins", "int")), "c__builtin__\nlong\n");
  EXPECT_EQ(Written(4, global("__builtin__", "long")),
            "\x8c\x08"
            "builtins\x8c\x03int\x93");
  // builtins has no such name; in Python 2 it would be another.
  EXPECT_EQ(Written(2, global("builtins", "unicode")), "cbuiltins\nunicode\n");
  EXPECT_EQ(Written(2, global("m", "A.B")), "c__builtin__\ngetattr\ncm\nA\nX\x01\0\0\0B\x86R"sv);
  EXPECT_EQ(Written(4, global("m", "A.B")),
            "\x8c\x01m\x8c\x03"
            "A.B\x93");
}

TEST(PickleWriter, WritesObjects) {
  const auto object = [](Construct construct) {
    return [construct](Document& d) {
      const std::optional<Value> kwargs = construct == Construct::kNewObjEx ? std::optional(d.Dict()) : std::nullopt;
      const Value value = d.Object(construct, d.Global("m", "C"), d.Tuple({}), kwargs);
      d.Append(value, d.Int(1));
      d.SetItem(value, d.Int(2), d.Int(3));
      d.SetState(value, d.None());
      return value;
    };
  };
  const std::string operations =
      "K\x01"
      "aK\x02K\x03sNb";
  EXPECT_EQ(Written(2, object(Construct::kReduce)), "cm\nC\n)R" + operations);
  EXPECT_EQ(Written(2, object(Construct::kNewObj)), "cm\nC\n)\x81" + operations);
  EXPECT_EQ(Written(2, object(Construct::kNewObjEx)), "ccopy_reg\n__newobj_ex__\ncm\nC\n)}\x87R" + operations);
  EXPECT_EQ(Written(4, object(Construct::kNewObjEx)),
            "\x8c\x01m\x8c\x01"
            "C\x93)}\x92" +
                operations);
}

TEST(PickleWriter, UsesTheMemoForWhatIsShared) {
  const Build twice = [](Document& d) {
    const Value list = d.List();
    return d.Tuple({list, list});
  };
  EXPECT_EQ(Written(2, twice), "]q\0h\0\x86"sv);
  EXPECT_EQ(Written(4, twice), "]\x94h\0\x86"sv);
  EXPECT_EQ(Written(2,
                    [](Document& d) {
                      return d.Tuple({d.Int(1 << 30), d.Tuple({}), d.Tuple({})});
                    }),
            "J\0\0\0\x40))\x87"sv);
}

TEST(PickleWriter, UsesLongMemoIndicesBeyond255) {
  Document document;
  const Value outer = document.List();
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < 257; ++i) document.Append(outer, document.String(std::to_string(i)));
  }
  const std::string shared = MustWrite(outer, 2);
  EXPECT_NE(shared.find("q\xff"sv), std::string::npos);
  EXPECT_NE(shared.find("r\0\x01\0\0"sv), std::string::npos);
  EXPECT_NE(shared.find("j\0\x01\0\0"sv), std::string::npos);
  EXPECT_EQ(Shape(MustRead(shared).root()), Shape(outer));
}

TEST(PickleWriter, WritesCyclesThroughContainers) {
  EXPECT_EQ(Written(2,
                    [](Document& d) {
                      const Value list = d.List();
                      d.Append(list, list);
                      return list;
                    }),
            "]q\0h\0a"sv);
}

TEST(PickleWriter, WritesRecursiveTuplesAsCPython) {
  const auto recursive = [](size_t more) {
    return [more](Document& d) {
      const Value list = d.List();
      std::vector<Value> items(1 + more, d.None());
      items[0] = list;
      const Value tuple = d.Tuple(items);
      d.Append(list, tuple);
      return tuple;
    };
  };
  // The list, in it the tuple (made of the list once more), then the half-made outer tuple is dropped.
  EXPECT_EQ(Written(2, recursive(0)),
            "]q\0h\0\x85q\x01"
            "a0h\x01"sv);
  EXPECT_EQ(Written(2, recursive(3)),
            "(]q\0(h\0NNNtq\x01"
            "aNNN1h\x01"sv);
  EXPECT_EQ(Written(4, recursive(0)),
            "]\x94h\0\x85\x94"
            "a0h\x01"sv);
}

TEST(PickleWriter, WritesObjectsWhoseArgumentsLeadBackToThem) {
  Document document;
  const Value list = document.List();
  const Value object = document.Call(document.Global("m", "f"), {list});
  document.Append(list, object);
  document.SetState(object, document.Int(5));
  for (const int protocol : {2, 4}) {
    const std::string bytes = MustWrite(object, protocol);
    EXPECT_EQ(Shape(MustRead(bytes).root()), Shape(object));
  }
}

// What protocol 2 makes of the set {member, 5} when the member knows the set. Whole is the list with which the
// inner call is made; what the outer one makes is thrown away.
TEST(PickleWriter, CallsWithWholeListsWhatLeadsBackToItself) {
  const auto build = [](Document& d) {
    const Value list = d.List();
    const Value object = d.Call(d.Global("m", "f"), {list});
    const Value member = d.Object(Construct::kNewObj, d.Global("m", "C"), d.Tuple({}));
    d.SetState(member, object);
    d.Append(list, member);
    d.Append(list, d.Int(5));
    return object;
  };
  EXPECT_EQ(Written(2, build),
            "cm\nf\nq\0]q\x01("       // f, the outer list
            "cm\nC\nq\x02)\x81q\x03"  // its member
            "h\0](h\x03K\x05"         // in its state f again, and a list of the member and 5
            "e\x85Rq\x04"             // the object
            "bK\x05"                  // the state is set, 5 comes into the outer list
            "e\x85q\x05R0h\x04"sv);   // and that object is dropped
}

TEST(PickleWriter, WritesSetsThatLeadBackToThemselves) {
  Document document;
  const Value member = document.Object(Construct::kNewObj, document.Global("m", "C"), document.Tuple({}));
  const Value frozen = document.FrozenSet(std::vector{member});
  document.SetState(member, frozen);
  for (const int protocol : {2, 4}) {
    EXPECT_EQ(Shape(MustRead(MustWrite(frozen, protocol)).root()), Shape(frozen));
    EXPECT_EQ(Shape(MustRead(MustWrite(member, protocol)).root()), Shape(member));
  }
}

TEST(PickleWriter, EqualGraphsGiveEqualBytes) {
  const std::string bytes = MustWrite(MustRead("(]q\0}q\x01h\0h\x01t."sv).root(), 2);
  Document document;
  (void)document.String("something that shifts all nodes");
  const Value dict = document.Dict();
  const Value list = document.List();
  EXPECT_EQ(MustWrite(document.Tuple({list, dict, list, dict}), 2), bytes);
}

// A text that is also the module of a global, which protocol 4 spells otherwise: the text is there once.
TEST(PickleWriter, SharesNoTextThatIsSpelledOtherwise) {
  const std::string bytes = MustWrite(MustRead("(V__builtin__\n2Vx\n\x93Vx\nt."sv).root(), 4);
  EXPECT_EQ(bytes,
            "\x80\x04\x8c\x0b__builtin__\x8c\x08"
            "builtins\x8c\x01x\x93\x8c\x01x\x87."sv);
  EXPECT_EQ(MustWrite(MustRead(bytes).root(), 4), bytes);
}

// The opcodes of a pickle that has no others than PyTorch's weights-only loader knows; empty otherwise.
std::string WeightsOnlyOpcodes(std::string_view bytes) {
  std::string opcodes;
  while (!bytes.empty()) {
    const char op = bytes[0];
    opcodes += op;
    size_t length = 1;
    if (std::string_view("\x80Kqh").find(op) != std::string_view::npos) length = 2;
    if (op == 'M') length = 3;
    if (std::string_view("Jrj").find(op) != std::string_view::npos) length = 5;
    if (op == 'G') length = 9;
    if (op == '\x8a') length = 2 + static_cast<unsigned char>(bytes[1]);
    if (op == 'X') length = 5 + static_cast<unsigned char>(bytes[1]);
    if (op == 'c') length = bytes.find('\n', bytes.find('\n') + 1) + 1;
    const bool is_plain = std::string_view("\x81Rbaesu(t\x85\x86\x87N\x89\x88)]}Q.").find(op) != std::string_view::npos;
    if (length == 1 && !is_plain) return {};
    bytes.remove_prefix(length);
  }
  return opcodes;
}

TEST(PickleWriter, Protocol2UsesOnlyOpcodesOfTheWeightsOnlyLoader) {
  Document document;
  const Value list = document.List();
  const Value dict = document.Dict();
  const Value set = document.Set();
  document.Add(set, document.Int(1));
  document.SetItem(dict, document.String("key"), document.Bool(true));
  document.SetItem(dict, document.Float(0.5), document.PersistentId(document.Tuple({document.None()})));
  const Value cls = document.Global("m", "Outer.C");
  const Value object = document.Object(Construct::kNewObjEx, cls, document.Tuple({}), dict);
  document.SetState(object, list);
  document.Append(object, dict);
  for (const Value value : {document.Bytes("a\xff"), document.Bytes(""), document.ByteArray("b"), set,
                            document.FrozenSet(std::vector{list}), object, document.BigInt(std::string(200, 'x')),
                            document.Int(300), document.Int(-70000), document.Tuple({list, dict, list, dict})}) {
    document.Append(list, value);
  }
  const std::string opcodes = WeightsOnlyOpcodes(MustWrite(list, 2));
  EXPECT_EQ(opcodes.back(), '.');
  for (const char op : std::string_view("\x8aXGRbQqhcM")) EXPECT_NE(opcodes.find(op), std::string::npos) << op;
}

TEST(PickleWriter, LimitsNesting) {
  Document document;
  Value nested = document.Tuple({document.None()});  // two levels
  for (int i = 0; i < 98; ++i) nested = document.Tuple({nested});
  WriteOptions options;
  options.limits.pickle_depth = 100;
  EXPECT_TRUE(WritePickle(nested, options).has_value());
  EXPECT_EQ(test::ErrorOf(WritePickle(document.Tuple({nested}), options)).kind(), ErrorKind::kLimit);
}

// What is written as a call is nested deeper when it is read: those levels count when it is written, too.
TEST(PickleWriter, WritesAgainWhatItWrote) {
  const std::vector<std::pair<const char*, Build>> leaves = {
      {"class", [](Document& d) { return d.Global("m", "A.b.c"); }},
      {"bytes", [](Document& d) { return d.Bytes("x"); }},
      {"bytearray", [](Document& d) { return d.ByteArray("x"); }},
      {"empty bytearray", [](Document& d) { return d.ByteArray(""); }},
      {"set",
       [](Document& d) {
         const Value set = d.Set();
         d.Add(set, d.Tuple({d.None()}));
         return set;
       }},
      {"frozenset", [](Document& d) { return d.FrozenSet(std::vector{d.None()}); }},
      {"object with keywords",
       [](Document& d) { return d.Object(Construct::kNewObjEx, d.Global("m", "C"), d.Tuple({d.None()}), d.Dict()); }},
  };
  for (const int protocol : {2, 4}) {
    WriteOptions options = {.protocol = protocol};
    options.limits.pickle_depth = 10;
    for (const auto& [name, build] : leaves) {
      int written = 0;
      int refused = 0;
      for (size_t levels = 0; levels < 15; ++levels) {
        Document document;
        Value nested = build(document);
        for (size_t i = 0; i < levels; ++i) nested = document.Tuple({nested});
        const auto once = WritePickle(nested, options);
        ++(once ? written : refused);
        if (!once) continue;
        const Document again = test::Value(ReadPickle(std::as_bytes(std::span(*once)), {.file = "written"}));
        SCOPED_TRACE(std::string(name) + " below " + std::to_string(levels));
        const auto twice = WritePickle(again.root(), options);
        EXPECT_TRUE(twice.has_value() && *twice == *once);
      }
      EXPECT_GT(written, 4) << name;
      EXPECT_GT(refused, 2) << name;
    }
  }
}

TEST(PickleWriter, LimitsTheDotsOfAClass) {
  Document document;
  std::string name = "A";
  for (int i = 0; i < 1'000'000; ++i) name += ".b";
  EXPECT_TRUE(WritePickle(document.Global("m", name), {.protocol = 4}).has_value());
  WriteOptions options = {.protocol = 2};
  options.limits.pickle_depth = UINT32_MAX;
  EXPECT_EQ(test::ErrorOf(WritePickle(document.Global("m", name), options)).kind(), ErrorKind::kLimit);
}

TEST(PickleWriter, SurvivesNestingWhateverTheLimit) {
  Document document;
  Value nested = document.None();
  for (int i = 0; i < 1'000'000; ++i) nested = document.Tuple({nested});
  WriteOptions options;
  options.limits.pickle_depth = UINT32_MAX;
  EXPECT_EQ(test::ErrorOf(WritePickle(nested, options)).kind(), ErrorKind::kLimit);
}

TEST(PickleWriter, LimitsBytes) {
  Document document;
  WriteOptions options;
  options.limits.pickle_bytes = 5;
  EXPECT_TRUE(WritePickle(document.Int(1), options).has_value());
  EXPECT_EQ(WritePickle(document.Tuple({document.None()}), options)->size(), 5u);
  EXPECT_EQ(test::ErrorOf(WritePickle(document.Tuple({document.Int(1)}), options)).kind(), ErrorKind::kLimit);
}

TEST(PickleWriter, RefusesWhatTheProtocolCannotName) {
  Document document;
  EXPECT_EQ(test::ErrorOf(WritePickle(document.Global("m", "a\nb"))).kind(), ErrorKind::kUnsupported);
  EXPECT_EQ(test::ErrorOf(WritePickle(document.Global("m\n", "a"))).kind(), ErrorKind::kUnsupported);
  EXPECT_EQ(test::ErrorOf(WritePickle(document.Global("m", "\xed\xa0\x80"))).kind(), ErrorKind::kUnsupported);
  EXPECT_EQ(test::ErrorOf(WritePickle(document.Global("m", ""))).kind(), ErrorKind::kUnsupported);
  EXPECT_TRUE(WritePickle(document.Global("m", "a\nb"), WriteOptions{.protocol = 4}).has_value());
  EXPECT_EQ(test::ErrorOf(WritePickle(document.None(), WriteOptions{.protocol = 3})).kind(), ErrorKind::kUsage);
}

}  // namespace
}  // namespace dcpctl::pickle

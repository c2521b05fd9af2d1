// How values look that samples_test.cc has not: those of other programs, odd ones, large ones.
#include <gtest/gtest.h>

#include "tests/pickle/graph.h"

namespace dcpctl::pickle {
namespace {

using namespace std::string_view_literals;

struct Shown {
  std::string_view bytes;
  std::string_view printed;
  std::string_view type_name;
};

void PrintTo(const Shown& shown, std::ostream* out) { *out << shown.printed; }

class PicklePrint : public testing::TestWithParam<Shown> {};

TEST_P(PicklePrint, Shows) {
  const Document document = MustRead(GetParam().bytes);
  EXPECT_EQ(Print(document.root()), GetParam().printed);
  EXPECT_EQ(TypeName(document.root()), GetParam().type_name);
}

// clang-format off: one case a line
constexpr Shown kOther[] = {
    {"cmy.mod\nPhase\nX\x01\0\0\0d\x85R."sv, "my.mod.Phase('d')", "Phase"},
    {"c__builtin__\ngetattr\ncmy.mod\nPhase\nX\x04\0\0\0DONE\x86R."sv, "my.mod.Phase.DONE", "Phase"},
    {"cmod\nC\n)\x81}X\x05\0\0\0epochK\x04sb."sv, "mod.C {'epoch': 4}", "C"},
    {"cmod\nC\nK\x01\x85\x81N}X\x01\0\0\0sK\x04s\x86"
     "b."sv,
     "mod.C(1) (None, {'s': 4})", "C"},
    {"ccopy_reg\n_reconstructor\n(cmod\nC\nc__builtin__\nobject\nNtR(X\x01\0\0\0xK\x02"
     "db."sv,
     "mod.C {'x': 2}", "C"},
    {"ccopy_reg\n_reconstructor\n(cmod\nL\nc__builtin__\nlist\n]K\x01"
     "atR."sv,
     "mod.L([1])", "L"},
    {"ccopy_reg\n__newobj_ex__\ncmod\nC\nK\x01\x85}X\x01\0\0\0kK\x02s\x87R."sv, "mod.C(1, k=2)", "C"},
    {"ccollections\nOrderedDict\n](](X\x01\0\0\0aK\x01"
     "ee\x85R."sv,
     "OrderedDict({'a': 1})", "OrderedDict"},  // Python 2
    {"ctorch\nfloat32\n."sv, "torch.float32", "dtype"},
    {"ctorch.serialization\n_get_layout\nX\x0d\0\0\0torch.strided\x85R."sv, "torch.strided", "layout"},
    {"ctorch._utils\n_rebuild_tensor_v2\n)R."sv, "torch._utils._rebuild_tensor_v2()", "Tensor"},
    {"ctorch._utils\n_rebuild_parameter\n)R."sv, "torch._utils._rebuild_parameter()", "Parameter"},
    {"X\x07\0\0\0storagectorch\nFloatStorage\n\x86Q."sv, "<persistent id ('storage', torch.FloatStorage)>",
     "FloatStorage"},
    {"NQ."sv, "<persistent id None>", "persistent id"},
    {"cpathlib._local\nPosixPath\nX\x05\0\0\0/ckpt\x85R."sv, "PosixPath('/ckpt')", "PosixPath"},
    {"cnumpy.core.multiarray\nscalar\ncnumpy\ndtype\nX\x02\0\0\0f8\x89\x88\x87R(K\x03X\x01\0\0\0>NNNtbU\x08\x3f\xf8\0\0\0\0\0\0\x86R."sv,
     "np.float64(1.5)", "float64"},
    {"cdatetime\ndate\nU\x04\x07\xe8\x02\x1d\x85R."sv, "datetime.date(2024, 2, 29)", "date"},  // Python 2
};

// Calls of known names with other arguments than their own are shown as what they are.
constexpr Shown kStrange[] = {
    {"cdatetime\ndate\nX\x01\0\0\0a\x85R."sv, "datetime.date('a')", "date"},
    {"c__builtin__\ncomplex\nNN\x86R."sv, "complex(None, None)", "complex"},
    {"c__builtin__\nset\nN\x85R."sv, "set(None)", "set"},
    {"ccollections\ndeque\nK\x01\x85R."sv, "collections.deque(1)", "deque"},
    {"ccollections\nCounter\nN\x85R."sv, "collections.Counter(None)", "Counter"},
    {"c_codecs\nencode\nX\x01\0\0\0aX\x05\0\0\0utf16\x86R."sv, "_codecs.encode('a', 'utf16')", "bytes"},
    {"cuuid\nUUID\n)\x81."sv, "uuid.UUID()", "UUID"},
    {"cfunctools\npartial\nN\x85R."sv, "functools.partial(None)", "partial"},
    {"ctorch\nSize\nN\x85R."sv, "torch.Size(None)", "Size"},
    {"ctorch\ndevice\n)R."sv, "torch.device()", "device"},
    {"cnumpy\ndtype\n)R."sv, "numpy.dtype()", "dtype"},
    {"cargparse\nNamespace\n)\x81K\x01"
     "b."sv,
     "argparse.Namespace 1", "Namespace"},
    {"cargparse\nNamespace\n)\x81}(X\x01\0\0\0aK\x01X\x03\0\0\0a bK\x02ub."sv, "Namespace(a=1, **{'a b': 2})",
     "Namespace"},
};

// clang-format on

INSTANTIATE_TEST_SUITE_P(Other, PicklePrint, testing::ValuesIn(kOther));
INSTANTIATE_TEST_SUITE_P(Strange, PicklePrint, testing::ValuesIn(kStrange));

TEST(PicklePrint, ShowsCyclesAsDots) {
  EXPECT_EQ(Print(MustRead("]q\0(K\x01h\0e."sv).root()), "[1, ...]");
  EXPECT_EQ(Print(MustRead("}q\0K\x01h\0s."sv).root()), "{1: ...}");
}

TEST(PicklePrint, ShowsSharedValuesAgain) {
  EXPECT_EQ(Print(MustRead("]q\0K\x01"
                           "ah\0\x86."sv)
                      .root()),
            "([1], [1])");
}

TEST(PicklePrint, CutsLongContainers) {
  PrintOptions options;
  options.max_items = 2;
  EXPECT_EQ(Print(MustRead("](K\x01K\x02"
                           "e.")
                      .root(),
                  options),
            "[1, 2]");
  EXPECT_EQ(Print(MustRead("](K\x01K\x02K\x03"
                           "e.")
                      .root(),
                  options),
            "[1, 2, ...]");
  EXPECT_EQ(Print(MustRead("}(K\x01NK\x02NK\x03Nu.").root(), options), "{1: None, 2: None, ...}");
  EXPECT_EQ(Print(MustRead("ccollections\nOrderedDict\n)R(K\x01NK\x02NK\x03Nu.").root(), options),
            "OrderedDict({1: None, 2: None, ...})");
  EXPECT_EQ(Print(MustRead("ccollections\ndeque\n)R(K\x01K\x02K\x03"
                           "e.")
                      .root(),
                  options),
            "deque([1, 2, ...])");
}

TEST(PicklePrint, CutsLongText) {
  PrintOptions options;
  options.max_bytes = 6;
  EXPECT_EQ(Print(MustRead("](K\x01K\x02"
                           "e.")
                      .root(),
                  options),
            "[1, 2]");
  EXPECT_EQ(Print(MustRead("](K\x01K\x02K\x03"
                           "e.")
                      .root(),
                  options),
            "[1, 2,...");
  EXPECT_EQ(Print(MustRead("X\x08\0\0\0abcd\xe2\x82\xacz."sv).root(), options), "'abcd...");  // no half code point
  options.max_bytes = 0;
  EXPECT_EQ(Print(MustRead("K\x01.").root(), options), "...");
}

TEST(PicklePrint, CutsValuesThatShareWithoutEnd) {
  std::string bytes = "]";
  for (char i = 0; i < 60; ++i) bytes += std::string("q") + i + "h" + i + "\x86";  // 2^60 lists
  PrintOptions options;
  options.max_bytes = 1000;
  EXPECT_EQ(Print(MustRead(bytes + ".").root(), options).size(), 1003u);
}

// What it takes is bounded by the text, not by what is shared: the whole path would have a terabyte.
TEST(PicklePrint, TakesNoMoreThanItsText) {
  Document document;
  const PrintOptions options{.max_bytes = 100};
  const Value part = document.String(std::string(size_t{1} << 20, 'x'));
  const Value path = document.Object(Construct::kReduce, document.Global("pathlib", "PosixPath"),
                                     document.Tuple(std::vector<Value>(size_t{1} << 20, part)));
  EXPECT_EQ(Print(path, options).size(), 103U);
  const Value name = document.Global("m", std::string(1000, 'n'));
  EXPECT_EQ(Print(name, options), "m." + std::string(98, 'n') + "...");
  EXPECT_EQ(Print(document.Global("m", std::string(98, 'n')), options), "m." + std::string(98, 'n'));
  const Value bytes = document.Call(document.Global("_codecs", "encode"),
                                    {document.String(std::string(1000, 'b')), document.String("latin1")});
  EXPECT_EQ(Print(bytes, options), "b'" + std::string(98, 'b') + "...");
  EXPECT_EQ(AsBytes(bytes, 5), "bbbbb");
  // One text for what one value is, in whatever protocol: a quote that is cut off chooses no other around it.
  const std::string quoted = std::string(1000, 'b') + "'";
  const Value encoded =
      document.Call(document.Global("_codecs", "encode"), {document.String(quoted), document.String("latin1")});
  EXPECT_EQ(Print(encoded, options), Print(document.Bytes(quoted), options));
  EXPECT_EQ(Print(document.Bytes(std::string(1 << 20, '\n')), options).size(), 103U);
  EXPECT_EQ(Print(document.String(quoted), options), "'" + std::string(99, 'b') + "...");
  const Value object = document.Object(Construct::kNewObj, document.Global("m", "C"), document.Tuple({}));
  for (int i = 0; i < 1000; ++i) document.Append(object, document.Int(1));
  EXPECT_EQ(Print(object, options).size(), 103U);
}

TEST(PicklePrint, SurvivesDeepNesting) {
  const std::string bytes = ")" + std::string(100'000, '\x85') + ".";
  const std::string printed = Print(MustRead(bytes).root());
  EXPECT_EQ(
      printed, std::string(1000, '(') + "..." + [] {
        std::string close;
        for (int i = 0; i < 1000; ++i) close += ",)";
        return close;
      }());
}

TEST(PicklePrint, AsksForDescriptions) {
  PrintOptions options;
  options.describe = [](Value value) {
    return value.Is(Kind::kObject) && value.IsCallOf("torch._utils", "_rebuild_tensor_v2") ? "tensor(...)" : "";
  };
  EXPECT_EQ(Print(MustRead("ctorch._utils\n_rebuild_tensor_v2\n)Rcm\nf\n)R\x86.").root(), options),
            "(tensor(...), m.f())");
}

TEST(PicklePrint, NamesTypes) {
  EXPECT_EQ(TypeName(MustRead("N.").root()), "NoneType");
  EXPECT_EQ(TypeName(MustRead("cm\nf\n)R)R.").root()), "object");
  EXPECT_EQ(TypeName(MustRead("cm\nA.B.\n)R.").root()), "A.B.");  // no last part
  EXPECT_EQ(TypeName(MustRead("c__builtin__\nEllipsis\n.").root()), "ellipsis");
  EXPECT_EQ(TypeName(MustRead("\x8c\x01m\x8c\x03"
                              "A.B\x93)\x81.")
                         .root()),
            "B");
}

}  // namespace
}  // namespace dcpctl::pickle

#include "torch/key_text.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace dcpctl::torch {
namespace {

using pickle::Document;
using pickle::Value;

class TorchKeyText : public testing::Test {
 protected:
  Value NumpyScalar(const std::string& code, std::string_view bytes) {
    return document_.Call(document_.Global("numpy._core.multiarray", "scalar"),
                          {document_.Call(document_.Global("numpy", "dtype"),
                                          {document_.String(code), document_.Bool(false), document_.Bool(true)}),
                           document_.Bytes(bytes)});
  }

  static void ExpectText(Value key, const std::string& text, bool is_certain = true) {
    const KeyText found = TextOfKey(key, 1000);
    EXPECT_EQ(found.text, text);
    EXPECT_EQ(found.is_certain, is_certain) << text;
  }

  Document document_;
};

TEST_F(TorchKeyText, IsCutWhereItIsTooLong) {
  Value large = document_.Int(1);
  for (int i = 0; i < 40; ++i) large = document_.Tuple({large, large});
  for (const Value key :
       {large, document_.String(std::string(5000, 'x')),
        document_.Call(document_.Global("torch", "device"), {document_.String(std::string(5000, 'x'))}),
        NumpyScalar(std::string(5000, 'x'), "1")}) {
    const KeyText found = TextOfKey(key, 1000);
    EXPECT_GT(found.text.size(), 1000U);
    EXPECT_LT(found.text.size(), 1100U);
  }
}

TEST_F(TorchKeyText, IsPythonsStr) {
  ExpectText(document_.String("it's"), "it's");
  ExpectText(document_.Int(-3), "-3");
  ExpectText(document_.Float(1e22), "1e+22");
  ExpectText(document_.None(), "None");
  ExpectText(document_.Bytes("b"), "b'b'");
  ExpectText(document_.Tuple({document_.Int(1), document_.Tuple({document_.String("a")})}), "(1, ('a',))");
  ExpectText(document_.Global("torch", "float16"), "torch.float16");
  ExpectText(document_.Global("builtins", "int"), "<class 'int'>");
}

// Their repr has a name around the number; their str has not.
TEST_F(TorchKeyText, OfNumpyNumbersIsTheNumber) {
  using std::string_view_literals::operator""sv;
  ExpectText(NumpyScalar("i8", "\5\0\0\0\0\0\0\0"sv), "5");
  ExpectText(NumpyScalar("f4", "\0\0\0\x3f"sv), "0.5");
  ExpectText(NumpyScalar("b1", "\1"), "True");
}

TEST_F(TorchKeyText, OfDevicesIsTheirShortName) {
  const Value device = document_.Global("torch", "device");
  ExpectText(document_.Call(device, {document_.String("cpu")}), "cpu");
  ExpectText(document_.Call(device, {document_.String("cuda"), document_.Int(1)}), "cuda:1");
}

TEST_F(TorchKeyText, OfOtherObjectsIsNotCertain) {
  const Value member = document_.Call(document_.Global("m", "Colour"), {document_.Int(1)});
  ExpectText(member, "m.Colour(1)", false);
  ExpectText(document_.Tuple({member}), "(m.Colour(1),)", false);
  ExpectText(document_.Global("m", "f"), "m.f", false);
}

}  // namespace
}  // namespace dcpctl::torch

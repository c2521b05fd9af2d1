#include "base/byte_writer.h"

#include <gtest/gtest.h>

#include "base/byte_cursor.h"

namespace dcpctl {
namespace {

using namespace std::string_literals;

TEST(ByteWriter, WritesLittleEndianFields) {
  ByteWriter out;
  out.U8(0x01).U16(0x0302).U32(0x87060504).U64(0xff0e0d0c0b0a0908).Text("te\0t"s).Fill('z', 3);
  EXPECT_EQ(out.size(), 1u + 2 + 4 + 8 + 4 + 3);
  EXPECT_EQ(out.bytes(), "\x01\x02\x03\x04\x05\x06\x87\x08\x09\x0a\x0b\x0c\x0d\x0e\xffte\0tzzz"s);
  EXPECT_EQ(std::move(out).Take().size(), 22u);
}

TEST(ByteWriter, IsReadBackByTheCursor) {
  for (int shift = 0; shift < 64; ++shift) {
    const uint64_t value = (uint64_t{0x9e3779b97f4a7c15} >> shift) | (uint64_t{1} << shift);
    ByteWriter out;
    out.U64(value).U32(static_cast<uint32_t>(value)).U16(static_cast<uint16_t>(value)).U8(static_cast<uint8_t>(value));
    ByteCursor in("f", std::as_bytes(std::span(out.bytes())), 0);
    EXPECT_EQ(in.U64("a"), value);
    EXPECT_EQ(in.U32("b"), static_cast<uint32_t>(value));
    EXPECT_EQ(in.U16("c"), static_cast<uint16_t>(value));
    EXPECT_EQ(in.U8("d"), static_cast<uint8_t>(value));
    EXPECT_EQ(in.remaining(), 0u);
  }
}

TEST(ByteWriter, BeginsEmpty) {
  ByteWriter out;
  out.Text("").Fill('x', 0);
  EXPECT_EQ(out.size(), 0u);
}

}  // namespace
}  // namespace dcpctl

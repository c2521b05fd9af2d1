#include "dcp/key_index.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

namespace dcpctl::dcp {
namespace {

TEST(KeyIndex, FindsNothingBeforeAnythingIsAdded) {
  const Catalog catalog;
  KeyIndex index(catalog);
  EXPECT_EQ(index.Find("a"), kNoEntry);
  index.Reserve(1000);
  EXPECT_EQ(index.Find("a"), kNoEntry);
  EXPECT_EQ(index.Find(""), kNoEntry);
}

// With room made beforehand, and growing.
TEST(KeyIndex, FindsEachKeyAndNoOther) {
  for (const size_t reserved : {size_t{0}, size_t{20'000}}) {
    Catalog catalog;
    KeyIndex index(catalog);
    index.Reserve(reserved);
    const auto key = [](size_t i) { return i == 0 ? std::string() : "layers." + std::to_string(i * 7919) + ".w"; };
    for (size_t i = 0; i < 20'000; ++i) {
      ASSERT_EQ(index.Find(key(i)), kNoEntry) << i;
      const auto add = [&] {
        if (i % 3 == 0) {
          catalog.AddObject(key(i));
        } else {
          catalog.AddTensor(key(i), DType::kFloat32, {});
        }
      };
      ASSERT_EQ(index.FindOrAdd(key(i), add), i);
      ASSERT_EQ(index.Find(key(i)), i);
      ASSERT_EQ(index.FindOrAdd(key(i), [] { FAIL() << "it is there"; }), i);
    }
    index.Reserve(100'000);
    for (size_t i = 0; i < 20'000; ++i) ASSERT_EQ(index.Find(key(i)), i);
    EXPECT_EQ(index.Find("layers.1.w"), kNoEntry);
  }
}

TEST(KeyIndex, KeepsApartKeysThatDifferByOneCharacter) {
  Catalog catalog;
  KeyIndex index(catalog);
  std::mt19937 random(5);
  std::string key(40, 'k');
  for (int i = 0; i < 2000; ++i) {
    const uint32_t entry = index.FindOrAdd(key, [&] { catalog.AddObject(key); });
    EXPECT_EQ(catalog.KeyOf(catalog.entries[entry]), key);
    EXPECT_EQ(index.Find(key), entry);
    key[random() % key.size()] = static_cast<char>('a' + random() % 3);
  }
}

}  // namespace
}  // namespace dcpctl::dcp

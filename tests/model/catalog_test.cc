#include "dcpctl/catalog.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>

namespace dcpctl {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// A million of them has to be held easily.
static_assert(sizeof(void*) != 8 || sizeof(Tensor) <= 40);
static_assert(sizeof(EntryRef) == 4);

TEST(Shape, IsOfNoDimensionsAtFirst) {
  const Shape shape;
  EXPECT_EQ(shape.size(), 0U);
  EXPECT_THAT(DimsView(shape), IsEmpty());
  EXPECT_EQ(Numel(shape), 1U);
}

TEST(Catalog, CopiesKeysAndShapes) {
  Catalog catalog;
  {
    std::string key = "layers.0.a_name_of_some_length";
    Dims sizes = {3, 4};
    catalog.AddTensor(key, DType::kBFloat16, sizes);
    key = "another";
    sizes = {5};
    catalog.AddTensor(key, DType::kInt8, sizes);
    catalog.AddObject("").length = 7;
    key.assign(100, '?');
    sizes = {0};
  }
  ASSERT_EQ(catalog.entries.size(), 3U);
  EXPECT_EQ(catalog.KeyOf(catalog.entries[0]), "layers.0.a_name_of_some_length");
  EXPECT_EQ(catalog.KeyOf(catalog.entries[1]), "another");
  EXPECT_EQ(catalog.KeyOf(catalog.entries[2]), "");
  EXPECT_THAT(DimsView(catalog.tensors[0].shape), ElementsAre(3, 4));
  EXPECT_THAT(catalog.tensors[1].shape.Copy(), ElementsAre(5));
  EXPECT_EQ(catalog.tensors[0].dtype, DType::kBFloat16);
  EXPECT_FALSE(catalog.entries[2].is_tensor);
  EXPECT_EQ(catalog.objects[catalog.entries[2].index].length, 7U);
}

TEST(Catalog, KeepsThemWhenItIsCopiedOrMoved) {
  std::optional<Catalog> first(std::in_place);
  first->AddTensor("w", DType::kFloat32, Dims{2, 2});
  Catalog copy = *first;
  const Catalog moved = *std::exchange(first, std::nullopt);
  copy.AddTensor("v", DType::kFloat32, Dims{9});
  EXPECT_EQ(moved.tensors.size(), 1U);
  for (const Catalog* catalog : {&moved, static_cast<const Catalog*>(&copy)}) {
    EXPECT_EQ(catalog->tensors[0].key, "w");
    EXPECT_THAT(DimsView(catalog->tensors[0].shape), ElementsAre(2, 2));
  }
}

TEST(Catalog, KeepsOneShapeForNeighboursThatHaveTheSame) {
  Catalog catalog;
  for (const Dims& sizes : {Dims{2, 3}, Dims{2, 3}, Dims{}, Dims{}, Dims{2, 3}, Dims{2, 3, 1}})
    catalog.AddTensor("w", DType::kFloat32, sizes);
  const auto& tensors = catalog.tensors;
  EXPECT_EQ(tensors[0].shape.begin(), tensors[1].shape.begin());
  EXPECT_THAT(DimsView(tensors[3].shape), IsEmpty());
  EXPECT_THAT(DimsView(tensors[4].shape), ElementsAre(2, 3));
  EXPECT_THAT(DimsView(tensors[5].shape), ElementsAre(2, 3, 1));
}

TEST(Catalog, TakesTheKeyForThePathAtTheTop) {
  Catalog catalog;
  catalog.AddTensor("a.b", DType::kFloat32, {});
  const auto path_of = [&](KeyPath path) {
    catalog.tensors[0].path = catalog.AddPath("a.b", std::move(path));
    return catalog.KeyPathOf(catalog.entries[0]);
  };
  EXPECT_EQ(catalog.KeyPathOf(catalog.entries[0]), KeyPath{"a.b"});
  EXPECT_EQ(path_of({"a.b"}), KeyPath{"a.b"});
  EXPECT_THAT(catalog.paths, IsEmpty());
  for (const KeyPath& path : {KeyPath{"a", "b"}, KeyPath{}, KeyPath{uint64_t{0}}, KeyPath{"other"}})
    EXPECT_EQ(path_of(path), path) << JoinPath(path);
  EXPECT_EQ(catalog.paths.size(), 4U);
}

}  // namespace
}  // namespace dcpctl

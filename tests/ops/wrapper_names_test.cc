#include "ops/wrapper_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace dcpctl::ops {
namespace {

using ::testing::HasSubstr;

std::optional<Finding> NoteOn(const std::vector<std::string>& keys) {
  Catalog catalog;
  for (const std::string& key : keys) catalog.AddTensor(key, DType::kFloat32, {});
  return NoteWrapperNames(catalog);
}

TEST(WrapperNames, AreCountedInOneNote) {  // C78
  const auto note = NoteOn({"model._orig_mod.a", "model._orig_mod.b._checkpoint_wrapped_module.w", "optim.x"});
  ASSERT_TRUE(note);
  EXPECT_EQ(note->id, "keys.wrapper-names");
  EXPECT_EQ(note->severity, Severity::kNote);
  EXPECT_EQ(note->message, "keys hold names of wrappers: _orig_mod in 2 keys, _checkpoint_wrapped_module in 1 key");
  EXPECT_EQ(note->advice, "conversions take them out with --rename _orig_mod= --rename _checkpoint_wrapped_module=");
}

TEST(WrapperNames, CountModuleOnlyInFrontOfEverything) {
  const auto all = NoteOn({"module.a", "module.b.w"});
  ASSERT_TRUE(all);
  EXPECT_THAT(all->message, HasSubstr("module in front in 2 keys"));
  EXPECT_THAT(all->advice, HasSubstr("--strip-prefix module"));
  const auto below = NoteOn({"model.module.a", "model.module.b", "optim.state.0"});
  ASSERT_TRUE(below);
  EXPECT_THAT(below->message, HasSubstr("model.module in 2 keys"));
  EXPECT_THAT(below->advice, HasSubstr("--rename '^model.module=model'"));
  EXPECT_FALSE(NoteOn({"module.a", "optimizer.b"}));  // as DeepSpeed calls its model
  EXPECT_FALSE(NoteOn({"model.module.a", "model.b"}));
  EXPECT_FALSE(NoteOn({"module", "module"}));
}

TEST(WrapperNames, AreWholeComponents) {
  EXPECT_FALSE(NoteOn({"my_orig_mod.w", "_orig_mods.w", "modules.w"}));
  EXPECT_FALSE(NoteOn({}));
}

}  // namespace
}  // namespace dcpctl::ops

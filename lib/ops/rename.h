// Replacing dotted components of a path. Pure: works on names alone. A path's elements may hold dots, so that a rule
// may begin or end inside one, or go across several.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "dcpctl/catalog.h"
#include "dcpctl/convert.h"
#include "dcpctl/error.h"

namespace dcpctl::ops {

// A Renaming that is used on many paths.
class RenameRule {
 public:
  // Errors: kUsage for one that replaces nothing.
  static Result<RenameRule> Make(const Renaming& renaming);

  // Replaces `from` wherever it is, from left to right and never in what was put in. Returns whether it was there;
  // nothing is left of a path that was all of it and has no `to`.
  //
  // List positions that are not replaced stay list positions. So do those that get another number: with as many
  // components in `to` as in `from`, each takes the place of one. Otherwise the components of `to` are elements of
  // their own, unless `from` touches or holds a dot inside an element: then they are joined by dots. Where something
  // is taken out, elements that were apart stay apart.
  bool Apply(KeyPath& path) const;

  // Adds all that stands in `path` where this rule looks and is as long as `from`: for suggestions.
  void AddCandidates(const KeyPath& path, std::set<std::string>& names) const;

  [[nodiscard]] const std::string& from() const { return text_; }

 private:
  struct Component;
  struct Builder;

  static std::vector<Component> Split(const KeyPath& path);
  static KeyPath Join(const std::vector<Component>& components);
  [[nodiscard]] bool MayBeIn(const KeyPath& path) const;
  [[nodiscard]] bool IsAt(const std::vector<Component>& components, size_t at) const;
  void Replace(const std::vector<Component>& components, size_t at, Builder& out) const;

  std::string text_;
  std::vector<std::string> from_;
  std::vector<std::string> to_;
  bool at_front_ = false;
  size_t same_front_ = 0;  // components that `from` and `to` begin with
  size_t same_back_ = 0;   // and end with, of the rest
};

}  // namespace dcpctl::ops

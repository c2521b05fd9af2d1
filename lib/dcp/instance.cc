#include "dcp/instance.h"

namespace dcpctl::dcp {

using pickle::Kind;
using pickle::Value;

std::string_view ClassName(Value value) {
  if (!value.Is(Kind::kObject) || !value.callable().Is(Kind::kGlobal)) return {};
  const Value callable = value.callable();
  if (callable.name() != "_reconstructor") return callable.name();
  // Protocols 0 and 1 make instances by copyreg._reconstructor(class, object, None).
  const bool has_class =
      value.IsCallOf("copyreg", "_reconstructor") && value.args().size() > 0 && value.args()[0].Is(Kind::kGlobal);
  return has_class ? value.args()[0].name() : std::string_view();
}

size_t AttributeCount(Value object) {
  if (!object.Is(Kind::kObject)) return 0;
  const auto state = object.state();
  return state && state->Is(Kind::kDict) ? state->size() : 0;
}

std::optional<Value> Attribute(Value object, std::string_view name) {
  if (!object.Is(Kind::kObject)) return std::nullopt;
  const auto state = object.state();
  if (!state || !state->Is(Kind::kDict)) return std::nullopt;
  const auto value = state->Find(name);
  return value && !value->Is(Kind::kNone) ? value : std::nullopt;
}

}  // namespace dcpctl::dcp

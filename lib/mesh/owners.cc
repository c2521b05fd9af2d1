#include "mesh/owners.h"

#include <utility>

#include "base/checked.h"
#include "base/result.h"

namespace dcpctl::mesh {

Result<Owners> Owners::Make(DimsView shape, const TensorCuts& cuts, Budget& budget) {
  Owners owners;
  Dims runs;
  for (size_t d = 0; d < shape.size(); ++d) {
    DCPCTL_ASSIGN(std::vector<Part> parts, PartsOf(shape[d], cuts.dims[d].cuts, budget));
    runs.push_back(0);
    for (const Part& part : parts) runs.back() += part.runs.size();
    owners.parts_.push_back(std::move(parts));
  }
  // Every run of a dimension meets every run of the others once.
  DCPCTL_TRY(budget.Spend(CheckedProduct(runs).value_or(UINT64_MAX)));
  return owners;
}

}  // namespace dcpctl::mesh

// --dtype: which tensors are cast, and what that needs.
#pragma once

#include <vector>

#include "dcpctl/catalog.h"
#include "dcpctl/convert.h"
#include "dcpctl/plan.h"
#include "plugin/tensor_math.h"

namespace dcpctl::ops {

// kUsage for a type that nothing can be cast to, and for data files that are taken over whole.
Result<void> CheckCastOptions(const ConvertOptions& options);

// Gives the tensors that are selected the type `to`, where they have another floating-point type that is not packed.
// Those inside of objects stay as they are.
CastTotals SetDType(Catalog& catalog, const std::vector<bool>& selected, DType to);

// The table of the plug-in, or null where the plan does without. kUnsupported when there is none, or when its library
// does not have a type that is cast from or to.
Result<const plugin::TensorMathV1*> OpenMathFor(const Plan& plan, const RunOptions& options);

}  // namespace dcpctl::ops

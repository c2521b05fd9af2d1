// The fake of support/fake_math.h in the place of LibTorch, for tests of the program.
#include "support/fake_math.h"

#include "plugin/abi.h"

DCPCTL_PLUGIN(dcpctl::plugin::kTensorMathKind, "Fake 1.2.3", &dcpctl::test::kFakeMath);

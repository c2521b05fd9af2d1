// Any bytes as the stream form of torch.save; or, where they do not begin as one, as what follows its first three
// pickles: the state, the keys of the storages, and the storages.
#include <string>

#include "fuzz/catalogs.h"
#include "fuzz/targets.h"
#include "support/result.h"
#include "torch/legacy.h"
#include "torch/sample_stream.h"
#include "torch/survey.h"

namespace dcpctl::fuzz {
namespace {

std::string Head() {
  pickle::Document nothing;
  const torch::SampleStream stream = torch::MakeStream(nothing.None(), {});
  return stream.magic + stream.version + stream.info;
}

}  // namespace

void FuzzLegacy(Bytes input) {
  const std::string given = torch::IsLegacyStream(input) ? test::TextOf(input) : Head() + test::TextOf(input);
  const MemorySource source = SourceOf(test::BytesOf(given));
  const auto catalog = torch::SurveyTorchLegacy(source, {.jobs = 1, .limits = SmallLimits()});
  if (catalog) CheckCatalog(*catalog);
  if (!catalog)
    Require(catalog.error().kind() != ErrorKind::kInternal, "a file is refused as it may be",
            catalog.error().ToString());
}

}  // namespace dcpctl::fuzz

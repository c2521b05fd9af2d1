// Any bytes as metadata: one pickle, or those of several ranks with nothing between them.
#include <utility>

#include "dcp/catalog_builder.h"
#include "dcp/details.h"
#include "dcpctl/pickle.h"
#include "fuzz/catalogs.h"
#include "fuzz/targets.h"

namespace dcpctl::fuzz {

void FuzzMetadata(Bytes input) {
  constexpr size_t kMostRanks = 8;
  dcp::CatalogBuilder builder(SmallLimits());
  for (size_t rank = 0; rank < kMostRanks && !input.empty(); ++rank) {
    const pickle::ReadOptions options{.file = "input", .allow_persistent_ids = false, .limits = SmallLimits()};
    uint64_t consumed = 0;
    const auto document = pickle::ReadPickle(input, options, &consumed);
    if (!document) break;
    if (const auto added = builder.Add(document->root(), "input"); !added) {
      Require(added.error().kind() != ErrorKind::kInternal, "metadata is refused as it may be",
              added.error().ToString());
      return;
    }
    (void)dcp::ReadDetails(document->root()).size();
    input = input.subspan(consumed);
  }
  const auto catalog = std::move(builder).Finish();
  if (catalog) CheckCatalog(*catalog);
}

}  // namespace dcpctl::fuzz

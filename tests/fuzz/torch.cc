// Any bytes as a torch.save archive; or, where they do not begin as one, as the pickle of one that has three storages.
// Without that an input would have to get a checksum right before anything is read.
#include <string>

#include "fuzz/catalogs.h"
#include "fuzz/targets.h"
#include "support/result.h"
#include "torch/sample_archive.h"
#include "torch/survey.h"
#include "zip/raw_zip.h"

namespace dcpctl::fuzz {
namespace {

std::string Wrap(std::string_view pickle) {
  constexpr uint32_t kNoChecksum = 0;
  return zip::MakeZip({{.name = "archive/data.pkl", .data = std::string(pickle), .crc = kNoChecksum},
                       {.name = "archive/byteorder", .data = "little"},
                       {.name = "archive/data/0", .data = std::string(64, 'a')},
                       {.name = "archive/data/1", .data = std::string(5, 'b')},
                       {.name = "archive/data/2"},
                       {.name = "archive/version", .data = "3\n"}});
}

}  // namespace

void FuzzTorch(Bytes input) {
  const std::string given = test::TextOf(input);
  const MemorySource source = zip::AsSource(given.starts_with("PK") ? given : Wrap(given));
  for (const Flattening flattening : {Flattening::kAlways, Flattening::kWhole}) {
    const auto catalog = torch::SurveyTorchZip(source, {.jobs = 1, .flattening = flattening, .limits = SmallLimits()});
    if (catalog) CheckCatalog(*catalog);
    if (!catalog)
      Require(catalog.error().kind() != ErrorKind::kInternal, "a file is refused as it may be",
              catalog.error().ToString());
  }
}

}  // namespace dcpctl::fuzz

#include "base/zstd_writer.h"

#include <zstd.h>

#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace dcpctl {
namespace {

// Threads take pieces of this size in turn. The size decides what comes out, so it is not zstd's own choice, which
// changes with its version.
constexpr int kJobBytes = 1 << 20;
// PyTorch's frames have this window: a reader that takes those takes these.
constexpr int kWindowLog = 21;

Result<void> Checked(size_t code) {
  if (ZSTD_isError(code) == 0) return {};
  return Fail(ErrorKind::kInternal, std::string("zstd does not compress: ") + ZSTD_getErrorName(code));
}

}  // namespace

struct ZstdWriter::Impl {
  std::unique_ptr<ZSTD_CCtx, size_t (*)(ZSTD_CCtx*)> context{ZSTD_createCCtx(), ZSTD_freeCCtx};
  std::vector<std::byte> out = std::vector<std::byte>(ZSTD_CStreamOutSize());

  // Until all of `in` is taken, or with ZSTD_e_end until all is out.
  Result<void> Run(std::span<const std::byte> piece, ZSTD_EndDirective until, const Sink& sink) {
    ZSTD_inBuffer in{.src = piece.data(), .size = piece.size(), .pos = 0};
    for (;;) {
      ZSTD_outBuffer to{.dst = out.data(), .size = out.size(), .pos = 0};
      const size_t left = ZSTD_compressStream2(context.get(), &to, &in, until);
      DCPCTL_TRY(Checked(left));
      if (to.pos > 0) DCPCTL_TRY(sink(std::span(out).first(to.pos)));
      if (until == ZSTD_e_end ? left == 0 : in.pos == in.size) return {};
    }
  }
};

ZstdWriter::ZstdWriter(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ZstdWriter::ZstdWriter(ZstdWriter&&) noexcept = default;
ZstdWriter& ZstdWriter::operator=(ZstdWriter&&) noexcept = default;
ZstdWriter::~ZstdWriter() = default;

Result<ZstdWriter> ZstdWriter::Make(int level, unsigned threads) {
  auto impl = std::make_unique<Impl>();
  if (!impl->context) return Fail(ErrorKind::kLimit, "no memory for zstd's encoder");
  const std::pair<ZSTD_cParameter, int> parameters[] = {
      {ZSTD_c_compressionLevel, level},
      {ZSTD_c_windowLog, kWindowLog},
      {ZSTD_c_checksumFlag, 1},
      // One thread is a worker as well: without any, other bytes would come out.
      {ZSTD_c_nbWorkers, static_cast<int>(threads)},
      {ZSTD_c_jobSize, kJobBytes},
  };
  for (const auto& [parameter, value] : parameters)
    DCPCTL_TRY(Checked(ZSTD_CCtx_setParameter(impl->context.get(), parameter, value)));
  return ZstdWriter(std::move(impl));
}

uint64_t ZstdWriter::BytesPerThread(int level) {
  constexpr uint64_t kMiB = uint64_t{1} << 20;
  // Measured: the tables of a level, the window, and two buffers of a job.
  return level <= 9 ? 12 * kMiB : level <= 15 ? 40 * kMiB : 64 * kMiB;
}

Result<void> ZstdWriter::Begin(uint64_t bytes) {
  ZSTD_CCtx* const context = impl_->context.get();
  DCPCTL_TRY(Checked(ZSTD_CCtx_reset(context, ZSTD_reset_session_only)));
  return Checked(ZSTD_CCtx_setPledgedSrcSize(context, bytes));
}

Result<void> ZstdWriter::Write(std::span<const std::byte> piece, const Sink& sink) {
  return impl_->Run(piece, ZSTD_e_continue, sink);
}

Result<void> ZstdWriter::End(const Sink& sink) { return impl_->Run({}, ZSTD_e_end, sink); }

}  // namespace dcpctl

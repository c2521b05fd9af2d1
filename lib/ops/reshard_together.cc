#include "ops/reshard_together.h"

#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "base/byte_writer.h"
#include "base/result.h"
#include "base/wire.h"
#include "check/preflight.h"
#include "dcpctl/version.h"
#include "io/staged_directory.h"
#include "io/union_file_system.h"
#include "ops/reshard.h"
#include "ops/write.h"
#include "ops/write_compressed.h"
#include "plan/share.h"
#include "plan/wire.h"
#include "ranks/file_exchange.h"

namespace dcpctl::ops {
namespace {

class Together {
 public:
  Together(ranks::Crew& crew, io::FileSystem& files, const std::filesystem::path& source,
           const std::filesystem::path& target, const ConvertOptions& options)
      : crew_(crew),
        files_(files),
        sources_(&files),
        source_(source),
        target_(target),
        options_(options),
        user_stop_(options.run.stop) {
    options_.run.stop = crew.stop();
    if (!crew.leads()) options_.run.observer = nullptr;
  }

  Result<ConvertReport> Run() {
    auto mine = Work();
    // After a signal there may be no time to wait for the others first.
    if (!mine && staged_ && user_stop_.stop_requested()) (void)io::RemoveTree(files_, staged_->path()).has_value();
    auto done = crew_.Conclude(std::move(mine));
    // By now all have stopped, and nobody can publish any more: the leader has said that it does not, or lacks the word
    // of this process.
    if (!done && !staging_.empty() && (crew_.has_verdict() || !ready_))
      (void)io::RemoveTree(files_, staging_).has_value();
    // The leader publishes last, and did not.
    if (!done && crew_.has_verdict() && published_ && !crew_.leads() && !options_.run.force)
      (void)io::RemoveTree(files_, target_).has_value();
    if (!done) return Fail(std::move(done).error());
    return std::move(planned_.report);
  }

 private:
  Result<void> Work() {
    DCPCTL_TRY(CheckOptions());
    const auto start = std::chrono::steady_clock::now();
    DCPCTL_TRY(Agree());
    if (options_.run.exchange) DCPCTL_TRY(JoinSources());
    DCPCTL_TRY(PlanForAll());
    if (options_.run.dry_run) return {};
    owners_ = ShareOutputs(planned_.plan, crew_.size());
    const Plan share = ShareOf(planned_.plan, owners_, crew_.rank());
    DCPCTL_TRY(Stage(share));
    auto filled = Fill(share);
    if (!filled) return Fail(Explain(std::move(filled).error()));
    ready_ = true;
    DCPCTL_ASSIGN(const engine::RunOutcome outcome, AddUp(filled->run));
    if (options_.zstd_level) DCPCTL_TRY(Describe(filled->extents));
    DCPCTL_TRY(Publish());
    return WriteAndRecord(outcome, start, planned_.report);
  }

  // From here on all processes see all files.
  Result<void> JoinSources() {
    DCPCTL_ASSIGN(const std::vector<io::SeenFile> seen, io::ListSeen(files_, source_));
    DCPCTL_ASSIGN(const auto told, crew_.Gather(io::EncodeSeen(seen)));
    std::vector<std::vector<io::SeenFile>> all;
    for (const std::string& one : told) {
      DCPCTL_ASSIGN(all.emplace_back(), io::DecodeSeen(one));
    }
    DCPCTL_ASSIGN(listing_, io::JoinSeen(source_, all, crew_.rank()));
    exchange_.emplace(crew_, files_, source_, seen);
    joined_ = io::NewUnionFileSystem(
        files_, source_, listing_,
        [this](unsigned owner, const std::string& name, uint64_t offset, std::span<std::byte> out) {
          return exchange_->Fetch(owner, name, offset, out);
        },
        [this](unsigned owner, const std::string& name, uint64_t offset, const DevicePart& to) {
          return exchange_->Land(owner, name, offset, to);
        });
    sources_ = joined_.get();
    return TellWay();
  }

  // How bytes of other processes come to the device.
  Result<void> TellWay() const {
    if (options_.run.observer == nullptr || options_.run.dry_run) return {};
    DCPCTL_ASSIGN(const auto device, OpenDevice(options_.run));
    if (device == nullptr) return {};
    options_.run.observer->OnDetail(
        exchange_->CanLandIn(device->memory_kind())
            ? "exchange: MPI receives into the memory of the device"
            : "exchange: MPI cannot reach the memory of the device, bytes are copied there");
    return {};
  }

  // What is damaged is found by reading everything, which is no part of planning.
  Result<void> CheckOptions() const {
    if (!options_.skip_damaged) return {};
    return Fail(ErrorKind::kUsage, "entries to be left out by several processes, expected ones that are whole");
  }

  // Otherwise one might wait for what another never says.
  Result<void> Agree() {
    ByteWriter out;
    for (const std::string& text : {std::string(kVersion), source_.native(), target_.native()}) WriteText(out, text);
    out.U8(options_.run.exchange ? 1 : 0).U8(options_.run.dry_run ? 1 : 0).U8(options_.run.force ? 1 : 0);
    out.U8(options_.zstd_level ? 1 : 0).U64(static_cast<uint64_t>(options_.zstd_level.value_or(0)));
    DCPCTL_ASSIGN(const auto all, crew_.Gather(out.bytes()));
    if (all[0] == out.bytes()) return {};
    return Fail(Error(ErrorKind::kMismatch, "arguments differ from those of the first process")
                    .Advise("give all processes the same command line and the same build of dcpctl"));
  }

  // One process looks at the source and the target, and plans for all.
  Result<void> PlanForAll() {
    if (crew_.leads()) {
      DCPCTL_ASSIGN(planned_, PlanReshard(*sources_, source_, target_, options_));
      planned_.report.plan.needs.mpi = true;
      DCPCTL_TRY(crew_.Broadcast(crew_.size() > 1 ? EncodePlan(planned_.plan) : std::string()));
    } else {
      DCPCTL_ASSIGN(const std::string plan, crew_.Broadcast({}));
      DCPCTL_ASSIGN(planned_.plan, DecodePlan(plan));
    }
    return {};
  }

  // A directory that all see, or with an exchange one on each disk.
  Result<void> Stage(const Plan& share) {
    if (crew_.leads()) {
      DCPCTL_TRY(CheckSpace(planned_.plan));
      DCPCTL_ASSIGN(io::StagedDirectory staged, io::StagedDirectory::Make(files_, target_));
      staged_.emplace(std::move(staged));
    }
    DCPCTL_ASSIGN(const std::string path, crew_.Broadcast(staged_ ? staged_->path().native() : std::string()));
    const auto there = files_.Stat(path);
    if (!there && options_.run.exchange) {
      DCPCTL_TRY(StageHere(share, path));
    } else if (!there) {
      return Fail(Error(there.error().kind(), Place{.file = path},
                        "is not there for this process, though the first one made it")
                      .Advise("put the result on a file system that all processes share, or say --exchange"));
    }
    staging_ = path;
    return MakeFolders(files_, planned_.plan, staging_);
  }

  // The leader looked at its own disk alone. Of several processes on a node, one makes the directory.
  Result<void> StageHere(const Plan& share, const std::string& path) {
    DCPCTL_TRY(check::CheckDirectoryTarget(files_, source_, target_, options_.run.force));
    DCPCTL_TRY(CheckSpace(share));
    DCPCTL_ASSIGN(auto staged, io::StagedDirectory::MakeSame(files_, target_, path));
    if (staged) staged_.emplace(*std::move(staged));
    return {};
  }

  // What compressed outputs take is not known yet.
  Result<void> CheckSpace(const Plan& plan) const {
    return options_.zstd_level ? Result<void>() : check::CheckSpace(files_, target_, BytesOf(plan));
  }

  Result<CompressedRun> Fill(const Plan& share) {
    const std::filesystem::path scratch = FolderOf(target_);
    if (options_.zstd_level)
      return FillCompressed(*sources_, share, staging_, scratch, options_.run, *options_.zstd_level);
    CompressedRun filled;
    const auto others_are_done = [&]() -> Result<void> {
      DCPCTL_TRY(crew_.Gather({}));
      return {};
    };
    DCPCTL_ASSIGN(filled.run, FillDirectory(*sources_, share, staging_, scratch, options_.run, others_are_done));
    return filled;
  }

  Error Explain(Error error) const {
    if (crew_.leads() || error.kind() != ErrorKind::kNotFound) return error;
    return std::move(error).Advise("all processes must see the source: --exchange reads each file where it is");
  }

  // What all processes read and cloned. None returns before all are done.
  Result<engine::RunOutcome> AddUp(const engine::RunOutcome& mine) {
    DCPCTL_ASSIGN(const auto all, crew_.Gather(ByteWriter().U64(mine.bytes_read).U64(mine.bytes_cloned).bytes()));
    engine::RunOutcome sum;
    for (const std::string& one : all) {
      ByteCursor in = ReadMessage(one);
      sum.bytes_read += in.U64("bytes read");
      sum.bytes_cloned += in.U64("bytes cloned");
    }
    return sum;
  }

  // The metadata of compressed outputs, from where those of all processes lie. It is there before any publishes.
  Result<void> Describe(const std::vector<OutputExtent>& mine) {
    ByteWriter out;
    for (const OutputExtent& extent : mine) out.U64(extent.offset).U64(extent.length);
    DCPCTL_ASSIGN(const auto all, crew_.Gather(std::move(out).Take()));
    if (crew_.leads()) {
      std::vector<ByteCursor> in;
      for (const std::string& one : all) in.push_back(ReadMessage(one));
      std::vector<OutputExtent> extents;
      for (const unsigned owner : owners_)
        extents.push_back({.offset = in[owner].U64("offset"), .length = in[owner].U64("length")});
      DCPCTL_ASSIGN(const std::string metadata, planned_.compression->metadata(extents));
      DCPCTL_TRY(WriteMetadata(files_, staging_, metadata));
      RecordFiles(FilesOf(planned_.plan, extents, metadata.size()), planned_.report.plan);
    }
    DCPCTL_TRY(crew_.Gather({}));
    return {};
  }

  // The leader last: without its metadata, what others have published is no checkpoint yet.
  Result<void> Publish() {
    if (options_.run.exchange) {
      Findings mine;
      if (!crew_.leads()) DCPCTL_TRY(PublishHere(mine));
      DCPCTL_TRY(ShowLeftovers(mine));
    }
    // From here on no other process may fail: what is published stays.
    return crew_.leads() ? PublishHere(planned_.report.plan.findings) : Result<void>();
  }

  Result<void> PublishHere(Findings& findings) {
    if (!staged_) return {};
    DCPCTL_TRY(SyncFolders(files_, planned_.plan, staging_));
    DCPCTL_TRY(ops::Publish(*staged_, options_.run, findings));
    published_ = true;
    return {};
  }

  // What others could not remove from their disks comes into the leader's report.
  Result<void> ShowLeftovers(const Findings& mine) {
    ByteWriter out;
    out.U64(mine.size());
    for (const Finding& finding : mine) {
      WriteText(out, finding.file);
      WriteText(out, finding.message);
    }
    DCPCTL_ASSIGN(const auto all, crew_.Gather(out.bytes()));
    for (size_t rank = 0; rank < all.size(); ++rank) {
      ByteCursor in = ReadMessage(all[rank]);
      for (uint64_t left = in.U64("findings"); left > 0 && !in.failed(); --left) {
        std::string file(ReadText(in));
        std::string message = std::string(ReadText(in)) + " (disk of process " + std::to_string(rank) + ")";
        planned_.report.plan.findings.push_back(ReplacedLeft(std::move(file), std::move(message)));
      }
    }
    return {};
  }

  ranks::Crew& crew_;
  io::FileSystem& files_;
  io::FileSystem* sources_;  // files_, or all that processes see together
  const std::filesystem::path& source_;
  const std::filesystem::path& target_;
  ConvertOptions options_;
  const std::stop_token user_stop_;
  DcpPlan planned_;               // of others than the leader the plan alone
  std::vector<unsigned> owners_;  // by output
  io::UnionListing listing_;
  std::optional<ranks::FileExchange> exchange_;
  std::unique_ptr<io::FileSystem> joined_;
  std::optional<io::StagedDirectory> staged_;  // the leader's, and with an exchange one on each other disk
  std::filesystem::path staging_;
  bool ready_ = false;  // all that this process makes is there
  bool published_ = false;
};

}  // namespace

Result<ConvertReport> ReshardTogether(ranks::Crew& crew, io::FileSystem& files, const std::filesystem::path& source,
                                      const std::filesystem::path& target, const ConvertOptions& options) {
  return Together(crew, files, source, target, options).Run();
}

}  // namespace dcpctl::ops

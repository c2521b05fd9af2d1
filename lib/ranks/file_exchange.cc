#include "ranks/file_exchange.h"

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include "base/crc32.h"
#include "base/result.h"
#include "base/text_hash.h"
#include "base/wire.h"
#include "io/file_cache.h"

namespace dcpctl::ranks {

struct FetchRequest {
  unsigned from = 0;
  uint64_t id = 0;
  std::string name = {};
  uint64_t offset = 0;
  uint64_t length = 0;
  int tag = 0;  // of a message of its own for the bytes, which are to land
};

namespace {

enum Tag : int { kRequest = Crew::kFirstFreeTag, kReply };

constexpr uint64_t kPiece = uint64_t{4} << 20;
constexpr int kNoLanding = 0;
constexpr int kLastLandingTag = 32'767;  // the least that MPI has for the highest tag

uint64_t PiecesIn(uint64_t bytes) { return std::max<uint64_t>(1, (bytes + kPiece - 1) / kPiece); }

std::string Encode(const FetchRequest& request) {
  ByteWriter out;
  out.U64(request.id).U64(request.offset).U64(request.length).U32(static_cast<uint32_t>(request.tag));
  WriteText(out, request.name);
  return std::move(out).Take();
}

FetchRequest DecodeRequest(unsigned from, const std::string& bytes) {
  ByteCursor in = ReadMessage(bytes);
  FetchRequest request{.from = from, .id = in.U64("id")};
  request.offset = in.U64("offset");
  request.length = in.U64("length");
  request.tag = static_cast<int>(in.U32("tag"));
  request.name = ReadText(in);
  return request;
}

// The files of this process, by name.
class Shelf {
 public:
  Shelf(io::FileSystem& files, const std::filesystem::path& folder, const std::vector<io::SeenFile>& seen)
      : cache_(files, Paths(folder, seen)) {
    for (uint32_t i = 0; i < seen.size(); ++i) numbers_.emplace(seen[i].name, i);
  }

  Result<std::string> Read(const FetchRequest& request) {
    const auto found = numbers_.find(request.name);
    if (found == numbers_.end())
      return Fail(Place{.file = request.name}, ErrorKind::kInternal, "is asked of a process that does not have it");
    DCPCTL_ASSIGN(const auto file, cache_.Open(found->second));
    std::string bytes(std::min(request.length, kPiece), '\0');
    if (bytes.empty()) {
      DCPCTL_TRY(file->CheckUnchanged());
    } else {
      DCPCTL_TRY(file->ReadAt(request.offset, std::as_writable_bytes(std::span(bytes))));
    }
    return bytes;
  }

 private:
  static std::vector<io::CachedPath> Paths(const std::filesystem::path& folder, const std::vector<io::SeenFile>& seen) {
    std::vector<io::CachedPath> paths;
    for (const io::SeenFile& file : seen) {
      paths.push_back({.root = folder.string(),
                       .relative = file.name,
                       .known = true,
                       .bytes = file.bytes,
                       .mtime_ns = file.mtime_ns});
    }
    return paths;
  }

  io::FileCache cache_;
  TextMap<uint32_t> numbers_;
};

}  // namespace

// Bytes that a thread waits for.
struct FileExchange::Order {
  uint64_t bytes = 0;
  std::span<std::byte> out = {};          // where they go,
  const DevicePart* onto = nullptr;       // unless they land here
  std::vector<uint32_t> piece_crcs = {};  // of those that do
  uint64_t pieces_left = 0;
  std::optional<Error> error = std::nullopt;
};

// What is asked of this process, and what it has asked for.
struct FileExchange::Desk {
  struct Piece {
    Order* order;
    uint64_t number;  // in the order
    uint64_t bytes;
    int tag = kNoLanding;        // of the message whose bytes land
    unsigned messages_left = 1;  // until it is there
  };

  std::mutex mutex;  // guards all below
  std::condition_variable_any changed;
  std::deque<FetchRequest> requests;
  uint64_t next_id = 0;
  std::map<uint64_t, Piece> pieces;  // on their way, by id
  int next_tag = kFirstLandingTag;
  std::vector<int> free_tags;  // below next_tag

  // None when there are not so many any more.
  std::vector<int> TakeTags(uint64_t count) {
    const std::lock_guard lock(mutex);
    std::vector<int> tags;
    if (count > free_tags.size() + static_cast<uint64_t>(kLastLandingTag + 1 - next_tag)) return tags;
    while (tags.size() < count) {
      if (free_tags.empty()) free_tags.push_back(next_tag++);
      tags.push_back(free_tags.back());
      free_tags.pop_back();
    }
    return tags;
  }

  void GiveBack(const std::vector<int>& tags) {
    const std::lock_guard lock(mutex);
    free_tags.insert(free_tags.end(), tags.begin(), tags.end());
  }

  void OnRequest(unsigned from, const std::string& bytes) {
    const std::lock_guard lock(mutex);
    requests.push_back(DecodeRequest(from, bytes));
    changed.notify_all();
  }

  // Nobody waits any more for a piece that is not there.
  void OnReply(const std::string& bytes) {
    ByteCursor in = ReadMessage(bytes);
    const uint64_t id = in.U64("id");
    const bool ok = in.U8("outcome") != 0;
    const std::lock_guard lock(mutex);
    const auto found = pieces.find(id);
    if (found == pieces.end()) return;
    Piece& piece = found->second;
    Order& order = *piece.order;
    if (!ok) {
      piece.messages_left = 1;  // no bytes follow
      Complain(order, ReadError(in));
    } else if (piece.tag != kNoLanding) {
      order.piece_crcs[piece.number] = in.U32("CRC-32");
    } else if (piece.bytes > 0) {
      const auto data = in.Bytes(piece.bytes, "bytes");
      if (!data.empty()) std::memcpy(order.out.data() + piece.number * kPiece, data.data(), data.size());
    }
    if (in.failed()) Complain(order, Error(ErrorKind::kInternal, "a reply is cut off"));
    OneLess(found);
  }

  void OnLanded(uint64_t id, bool landed) {
    const std::lock_guard lock(mutex);
    const auto found = pieces.find(id);
    if (found == pieces.end()) return;
    if (!landed) Complain(*found->second.order, Error(ErrorKind::kInternal, "bytes of another length were sent"));
    OneLess(found);
  }

 private:
  static void Complain(Order& order, Error error) {
    if (!order.error) order.error = std::move(error);
  }

  void OneLess(std::map<uint64_t, Piece>::iterator piece) {
    if (--piece->second.messages_left > 0) return;
    --piece->second.order->pieces_left;
    pieces.erase(piece);
    changed.notify_all();
  }
};

FileExchange::FileExchange(Crew& crew, io::FileSystem& here, const std::filesystem::path& folder,
                           const std::vector<io::SeenFile>& seen)
    : crew_(crew), desk_(std::make_shared<Desk>()) {
  crew.courier().Handle(kRequest,
                        [desk = desk_](unsigned from, const std::string& bytes) { desk->OnRequest(from, bytes); });
  crew.courier().Handle(kReply, [desk = desk_](unsigned, const std::string& bytes) { desk->OnReply(bytes); });
  server_ = std::jthread([this, &here, folder, seen](const std::stop_token& stop) { Serve(stop, here, folder, seen); });
}

FileExchange::~FileExchange() = default;

// One request after the other: replies that nobody takes yet hold up the next.
void FileExchange::Serve(const std::stop_token& stop, io::FileSystem& here, const std::filesystem::path& folder,
                         const std::vector<io::SeenFile>& seen) {
  Shelf shelf(here, folder, seen);
  for (;;) {
    std::unique_lock lock(desk_->mutex);
    if (!desk_->changed.wait(lock, stop, [this] { return !desk_->requests.empty(); })) return;
    const FetchRequest request = std::move(desk_->requests.front());
    desk_->requests.pop_front();
    lock.unlock();
    auto bytes = shelf.Read(request);
    const bool lands = bytes.has_value() && request.tag != kNoLanding;
    ByteWriter reply;
    reply.U64(request.id).U8(bytes ? 1 : 0);
    if (!bytes) {
      WriteError(reply, bytes.error());
    } else if (lands) {
      reply.U32(Crc32(std::as_bytes(std::span(*bytes))));
    } else {
      reply.Text(*bytes);
    }
    // When it is stopped, the other is, too.
    (void)crew_.courier().PostWhenRoom(request.from, kReply, std::move(reply).Take(), stop).has_value();
    if (lands) (void)crew_.courier().PostWhenRoom(request.from, request.tag, *std::move(bytes), stop).has_value();
  }
}

// Asks for all of it, and waits until it is there.
Result<void> FileExchange::Ask(unsigned owner, const std::string& name, uint64_t offset, std::span<const int> tags,
                               Order& order) {
  order.pieces_left = PiecesIn(order.bytes);
  std::vector<FetchRequest> requests;
  std::unique_lock lock(desk_->mutex);
  for (uint64_t i = 0; i < order.pieces_left; ++i) {
    const FetchRequest& request =
        requests.emplace_back(FetchRequest{.id = desk_->next_id++,
                                           .name = name,
                                           .offset = offset + i * kPiece,
                                           .length = std::min<uint64_t>(kPiece, order.bytes - i * kPiece),
                                           .tag = tags.empty() ? kNoLanding : tags[i]});
    desk_->pieces.emplace(request.id, Desk::Piece{.order = &order,
                                                  .number = i,
                                                  .bytes = request.length,
                                                  .tag = request.tag,
                                                  .messages_left = tags.empty() ? 1U : 2U});
  }
  lock.unlock();
  for (const FetchRequest& request : requests) {
    if (request.tag != kNoLanding) {
      crew_.courier().Expect(owner, request.tag, order.onto->Sub(request.offset - offset, request.length),
                             [desk = desk_, id = request.id](bool landed) { desk->OnLanded(id, landed); });
    }
    crew_.courier().Post(owner, kRequest, Encode(request));
  }
  lock.lock();
  const bool all = desk_->changed.wait(lock, crew_.stop(), [&] { return order.pieces_left == 0; });
  for (const FetchRequest& request : requests) desk_->pieces.erase(request.id);
  if (order.error) return Fail(std::move(*order.error).In("read by process " + std::to_string(owner)));
  if (!all) return Fail(ErrorKind::kCancelled, "stopped");
  return {};
}

Result<void> FileExchange::Fetch(unsigned owner, const std::string& name, uint64_t offset, std::span<std::byte> out) {
  Order order{.bytes = out.size(), .out = out};
  return Ask(owner, name, offset, {}, order);
}

Result<std::optional<uint32_t>> FileExchange::Land(unsigned owner, const std::string& name, uint64_t offset,
                                                   const DevicePart& to) {
  if (!CanLandIn(to.memory->kind())) return std::nullopt;
  if (to.bytes == 0) return 0;
  const std::vector<int> tags = desk_->TakeTags(PiecesIn(to.bytes));
  if (tags.empty()) return std::nullopt;
  Order order{.bytes = to.bytes, .onto = &to, .piece_crcs = std::vector<uint32_t>(tags.size())};
  if (auto done = Ask(owner, name, offset, tags, order); !done) {
    // These tags are not used again: messages may still come with them.
    for (const int tag : tags) crew_.courier().Renounce(owner, tag);
    return Fail(std::move(done).error());
  }
  desk_->GiveBack(tags);
  uint32_t crc = 0;
  for (uint64_t i = 0; i < tags.size(); ++i)
    crc = Crc32Combine(crc, order.piece_crcs[i], std::min<uint64_t>(kPiece, to.bytes - i * kPiece));
  return crc;
}

}  // namespace dcpctl::ranks

#include <span>
#include <string>
#include <vector>

#include "dcp/layout.h"
#include "pickle/two_pass_writer.h"

namespace dcpctl::dcp {
namespace {

using pickle::TwoPassWriter;

// Spells each class as PyTorch pickles it: dataclasses by NEWOBJ and a dict, properties by a tuple of five
// (PyTorch up to 2.14 reads no other), enum members by a call with their value.
class MetadataPickler {
 public:
  MetadataPickler(const NewMetadata& metadata, const Compat& compat) : in_(metadata), compat_(compat) {
    for (const std::string& file : in_.files) files_.push_back(out_.Text(file));
    for (const NewEntry& entry : in_.entries) {
      keys_.push_back(out_.Text(entry.key));
      records_ += entry.chunks.size();
    }
  }

  Result<std::string> Run() {
    return out_.Run([this] { Metadata(); });
  }

 private:
  using Name = TwoPassWriter::Name;

  Name Class(std::string_view module, std::string_view name) {
    return out_.Global(std::string(compat_.package) + "." + std::string(module), name);
  }
  void Text(std::string_view text) { out_.Use(out_.Text(text)); }
  void Count(uint64_t number) { out_.Int(static_cast<int64_t>(number)); }

  void Metadata() {
    out_.Instance(Class("metadata", "Metadata"));
    out_.BeginAttributes();
    Text("state_dict_metadata");
    out_.Dict(in_.entries.size(), [this](size_t i) {
      out_.Use(keys_[i]);
      in_.entries[i].is_tensor ? Tensor(in_.entries[i]) : out_.Instance(Class("metadata", "BytesStorageMetadata"));
    });
    Text("planner_data");
    in_.nested ? Paths() : out_.None();
    Text("storage_data");
    Records();
    out_.EndAttributes();
  }

  void Tensor(const NewEntry& entry) {
    out_.Instance(Class("metadata", "TensorStorageMetadata"));
    out_.BeginAttributes();
    Text("properties");
    Properties(entry);
    Text("size");
    Size(entry.shape);
    Text("chunks");
    out_.List(entry.chunks.size(), [&](size_t i) { Chunk(entry.chunks[i]); });
    out_.EndAttributes();
  }

  void Properties(const NewEntry& entry) {
    out_.Instance(out_.Global(compat_.properties, "TensorProperties"));
    out_.BeginTuple(5);
    out_.Use(out_.Global("torch", dcpctl::Name(entry.dtype)));
    out_.Call(out_.Global("torch.serialization", "_get_layout"), [this] { Text("torch.strided"); });
    out_.Bool(entry.requires_grad);
    out_.Call(out_.Global(compat_.properties, compat_.format_enum), [this] { out_.Int(0); });
    out_.Bool(false);
    out_.EndTuple(5);
    out_.SetState();
  }

  void Chunk(const NewChunk& chunk) {
    out_.Instance(chunk_class_);
    out_.BeginAttributes();
    out_.Use(offsets_);
    Size(chunk.box.offsets);
    out_.Use(sizes_);
    Size(chunk.box.sizes);
    out_.EndAttributes();
  }

  void Size(DimsView dims) {
    out_.Call(size_class_, [&] {
      out_.BeginTuple(dims.size());
      for (const uint64_t dim : dims) Count(dim);
      out_.EndTuple(dims.size());
    });
  }

  void Paths() {
    out_.Dict(in_.entries.size(), [this](size_t i) {
      out_.Use(keys_[i]);
      const std::span path = in_.entries[i].path;
      out_.BeginTuple(path.size());
      for (const PathElement& element : path) {
        const auto* text = std::get_if<std::string>(&element);
        text != nullptr ? Text(*text) : Count(std::get<uint64_t>(element));
      }
      out_.EndTuple(path.size());
    });
  }

  void Records() {
    size_t entry = 0;
    size_t chunk = 0;
    out_.Dict(records_, [&](size_t) {
      for (; chunk == in_.entries[entry].chunks.size(); chunk = 0) ++entry;
      Index(entry, chunk);
      Record(in_.entries[entry].chunks[chunk++]);
    });
  }

  void Index(size_t entry, size_t chunk) {
    out_.Instance(index_class_);
    out_.BeginAttributes();
    out_.Use(fqn_);
    out_.Use(keys_[entry]);
    out_.Use(index_);
    if (in_.entries[entry].is_tensor) {
      Count(chunk);
      out_.Use(offset_);
      Size(in_.entries[entry].chunks[chunk].box.offsets);
    } else {
      out_.None();
    }
    out_.EndAttributes();
  }

  void Record(const NewChunk& chunk) {
    out_.Instance(record_class_);
    out_.BeginAttributes();
    out_.Use(relative_path_);
    out_.Use(files_[chunk.file]);
    out_.Use(offset_);
    Count(chunk.place.offset);
    out_.Use(length_);
    Count(chunk.place.length);
    if (chunk.transforms != 0) {
      const std::vector<std::string>& names = in_.transform_chains[chunk.transforms];
      Text("transform_descriptors");
      out_.List(names.size(), [&](size_t i) { Text(names[i]); });
    }
    out_.EndAttributes();
  }

  const NewMetadata& in_;
  const Compat& compat_;
  TwoPassWriter out_;
  std::vector<Name> files_;
  std::vector<Name> keys_;  // of the entries
  size_t records_ = 0;
  // What each chunk needs.
  const Name chunk_class_ = Class("metadata", "ChunkStorageMetadata");
  const Name index_class_ = Class("metadata", "MetadataIndex");
  const Name record_class_ = Class("filesystem", "_StorageInfo");
  const Name size_class_ = out_.Global("torch", "Size");
  const Name offsets_ = out_.Text("offsets");
  const Name sizes_ = out_.Text("sizes");
  const Name fqn_ = out_.Text("fqn");
  const Name index_ = out_.Text("index");
  const Name relative_path_ = out_.Text("relative_path");
  const Name offset_ = out_.Text("offset");
  const Name length_ = out_.Text("length");
};

}  // namespace

Result<std::string> WriteMetadata(const NewMetadata& metadata, const Compat& compat) {
  return MetadataPickler(metadata, compat).Run();
}

}  // namespace dcpctl::dcp

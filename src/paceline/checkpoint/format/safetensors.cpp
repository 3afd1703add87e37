#include "paceline/checkpoint/format/safetensors.h"

#include "paceline/base/error.h"
#include "paceline/base/hash.h"
#include "paceline/base/json.h"
#include "paceline/checkpoint/format/dtypes.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <tuple>

#include <nlohmann/json.hpp>

namespace paceline::checkpoint {
namespace {

using base::CheckpointError;
using Json = nlohmann::json;

constexpr std::uint64_t kLengthBytes = 8;
/// The reference implementation's limit.
constexpr std::uint64_t kMaxHeaderBytes = 100'000'000;

[[noreturn]] void fail(const std::filesystem::path& path, std::string_view what) {
  throw CheckpointError(fmt::format("{}: {}", path.string(), what));
}

/// What people take for a safetensors file, and what to do with it.
std::string_view other_format(std::string_view file) {
  if (file.starts_with("PK\x03\x04") || file.starts_with("\x80"))
    return ". A pickle or zip archive is read if torch.save(model.state_dict(), FILE) wrote it";
  return "; weights are read from .safetensors files, from those of torch.save (.pth, .pt, .bin) "
         "and from runs (RUN@best)";
}

/// Reads one header and holds what the messages need.
class HeaderParser {
 public:
  HeaderParser(const std::filesystem::path& path, std::string_view file)
      : path_(path), file_(file) {}

  std::tuple<std::vector<SafetensorsFile::Entry>, Metadata, std::uint64_t> parse() {
    const Json header = parse_json();
    std::vector<SafetensorsFile::Entry> entries;
    Metadata metadata;
    for (const auto& [name, value] : header.items()) {
      if (name == "__metadata__") {
        metadata = parse_metadata(value);
      } else {
        entries.push_back(parse_entry(name, value));
      }
    }
    std::sort(entries.begin(), entries.end(), [](const auto& a, const auto& b) {
      return std::tie(a.begin, a.end, a.name) < std::tie(b.begin, b.end, b.name);
    });
    check_coverage(entries);
    return {std::move(entries), std::move(metadata), data_begin_};
  }

 private:
  Json parse_json() {
    if (file_.size() < kLengthBytes) {
      fail(path_,
           fmt::format("not a safetensors file, or truncated: it has {} bytes", file_.size()));
    }
    std::uint64_t length = 0;
    std::memcpy(&length, file_.data(), kLengthBytes);
    if (length > kMaxHeaderBytes) {
      fail(path_, fmt::format("not a safetensors file: its header would have {} bytes{}", length,
                              other_format(file_)));
    }
    if (length > file_.size() - kLengthBytes) {
      fail(path_,
           fmt::format("truncated: its header has {} bytes, the file {}", length, file_.size()));
    }
    data_begin_ = kLengthBytes + length;
    try {
      Json header = base::parse_json(file_.substr(kLengthBytes, length));
      if (!header.is_object()) fail(path_, "damaged: its header is not a JSON object");
      return header;
    } catch (const base::JsonError& error) {
      fail(path_, fmt::format("damaged: its header is not a JSON object: {}", error.what()));
    }
  }

  Metadata parse_metadata(const Json& value) {
    if (!value.is_object()) fail(path_, "damaged: __metadata__ is not a JSON object");
    Metadata metadata;
    for (const auto& [key, text] : value.items()) {
      if (!text.is_string()) fail(path_, fmt::format("damaged: metadata '{}' is not text", key));
      metadata[key] = text.get<std::string>();
    }
    return metadata;
  }

  SafetensorsFile::Entry parse_entry(const std::string& name, const Json& value) {
    const auto damaged = [&](std::string_view what) {
      fail(path_, fmt::format("tensor '{}' {}", name, what));
    };
    if (!value.is_object() || !value.contains("dtype") || !value["dtype"].is_string() ||
        !value.contains("shape") || !is_sizes(value["shape"]) || !value.contains("data_offsets") ||
        !is_sizes(value["data_offsets"]) || value["data_offsets"].size() != 2) {
      damaged("is described wrongly: dtype, shape and two data_offsets are needed");
    }
    SafetensorsFile::Entry entry;
    entry.name = name;
    const auto dtype_text = value["dtype"].get<std::string>();
    const auto dtype = dtype_from_name(dtype_text);
    if (!dtype) damaged(fmt::format("has the unknown dtype '{}'", dtype_text));
    entry.dtype = *dtype;
    entry.shape = value["shape"].get<std::vector<std::int64_t>>();

    const auto begin = value["data_offsets"][0].get<std::uint64_t>();
    const auto end = value["data_offsets"][1].get<std::uint64_t>();
    const std::uint64_t data_size = file_.size() - data_begin_;
    if (begin > end) damaged(fmt::format("ends at {}, before its begin at {}", end, begin));
    if (end > data_size) {
      damaged(
          fmt::format("ends at byte {} of the data, the file has {}: truncated", end, data_size));
    }
    const auto size = checked_byte_size(entry.shape, entry.dtype);
    if (!size || *size != end - begin) {
      damaged(fmt::format("has {} bytes, which is not {} of {}", end - begin, dtype_text,
                          shape_text(entry.shape)));
    }
    entry.begin = data_begin_ + begin;
    entry.end = data_begin_ + end;
    return entry;
  }

  /// Lists of integers in [0, 2^63).
  static bool is_sizes(const Json& value) {
    return value.is_array() && std::all_of(value.begin(), value.end(), [](const Json& item) {
             return item.is_number_unsigned() && item.get<std::uint64_t>() <= INT64_MAX;
           });
  }

  void check_coverage(const std::vector<SafetensorsFile::Entry>& entries) {
    std::uint64_t position = data_begin_;
    for (const auto& entry : entries) {
      if (entry.begin < position) {
        fail(path_, fmt::format("damaged: tensor '{}' overlaps the one before it", entry.name));
      }
      if (entry.begin > position) {
        fail(path_, fmt::format("damaged: {} bytes before tensor '{}' belong to none",
                                entry.begin - position, entry.name));
      }
      position = entry.end;
    }
    if (position != file_.size()) {
      fail(path_, fmt::format("damaged: {} bytes at the end belong to no tensor",
                              file_.size() - position));
    }
  }

  const std::filesystem::path& path_;
  std::string_view file_;
  std::uint64_t data_begin_ = 0;
};

}  // namespace

SafetensorsFile::SafetensorsFile(const std::filesystem::path& path) : path_(path), file_(path) {
  std::tie(entries_, metadata_, data_begin_) = HeaderParser(path_, file_.bytes()).parse();
  for (std::size_t i = 0; i < entries_.size(); ++i) index_[entries_[i].name] = i;
}

const SafetensorsFile::Entry* SafetensorsFile::find(std::string_view name) const {
  const auto found = index_.find(name);
  return found == index_.end() ? nullptr : &entries_[found->second];
}

std::string_view SafetensorsFile::bytes(const Entry& entry) const {
  if (!file_.is_whole()) fail(path_, "it was cut off after it was opened; copy it again");
  return file_.bytes().substr(entry.begin, entry.end - entry.begin);
}

at::Tensor SafetensorsFile::tensor(const Entry& entry) const {
  const std::string_view data = bytes(entry);
  const auto options = at::TensorOptions().dtype(entry.dtype);
  const bool is_aligned =
      reinterpret_cast<std::uintptr_t>(data.data()) % c10::elementSize(entry.dtype) == 0;
  if (data.empty() || !is_aligned) {  // other programs' files may start anywhere
    at::Tensor copy = at::empty(entry.shape, options);
    if (!data.empty()) std::memcpy(copy.mutable_data_ptr(), data.data(), data.size());
    return copy;
  }
  // from_blob wants a mutable pointer; the mapping is private and read-only.
  return at::from_blob(const_cast<char*>(data.data()), entry.shape, options);
}

namespace {

/// What fits a core's cache: it is hashed and then written.
constexpr std::size_t kChunkBytes = std::size_t{1} << 20;
/// With more LibTorch would start threads, and a checkpoint may be written beside a step.
constexpr std::int64_t kChunkElements = 32767;

/// The length and the JSON that come before the tensors.
std::string make_header(std::span<const TensorSource> tensors, std::span<const std::size_t> order,
                        const Metadata& metadata) {
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  if (!metadata.empty()) header["__metadata__"] = metadata;
  std::uint64_t position = 0;
  for (const std::size_t i : order) {
    const TensorSource& tensor = tensors[i];
    const auto size = checked_byte_size(tensor.shape, tensor.dtype);
    PACELINE_CHECK(size && !header.contains(tensor.name), "two tensors are named '{}'",
                   tensor.name);
    header[tensor.name] = {{"dtype", dtype_name(tensor.dtype)},
                           {"shape", tensor.shape},
                           {"data_offsets", {position, position + *size}}};
    position += *size;
  }
  std::string json = header.dump();
  json.resize((json.size() + 7) / 8 * 8, ' ');
  const std::uint64_t length = json.size();
  std::string bytes(kLengthBytes, '\0');
  std::memcpy(bytes.data(), &length, kLengthBytes);
  return bytes + json;
}

/// Wide elements first, so that every tensor is aligned in the mapped file.
std::vector<std::size_t> storage_order(std::span<const TensorSource> tensors) {
  std::vector<std::size_t> order(tensors.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return c10::elementSize(tensors[a].dtype) > c10::elementSize(tensors[b].dtype);
  });
  return order;
}

/// Gives `take` the elements of a CPU tensor in row-major order, a chunk at a time.
void for_each_chunk(const at::Tensor& tensor, const std::function<void(std::string_view)>& take) {
  if (!tensor.is_contiguous()) {
    const std::int64_t row = tensor.numel() / tensor.size(0);
    const std::int64_t num_rows = std::max<std::int64_t>(1, kChunkElements / row);
    for (std::int64_t i = 0; i < tensor.size(0); i += num_rows) {
      for_each_chunk(tensor.slice(0, i, i + num_rows).contiguous(), take);
    }
    return;
  }
  std::string_view bytes(static_cast<const char*>(tensor.const_data_ptr()), tensor.nbytes());
  for (; !bytes.empty(); bytes.remove_prefix(std::min(kChunkBytes, bytes.size()))) {
    take(bytes.substr(0, kChunkBytes));
  }
}

}  // namespace

std::vector<TensorSource> sources_of(std::span<const NamedTensor> tensors) {
  std::vector<TensorSource> sources;
  for (const NamedTensor& named : tensors) {
    sources.push_back({named.name, named.tensor.scalar_type(), named.tensor.sizes().vec(),
                       [&named] { return named.tensor; }});
  }
  return sources;
}

WrittenFile write_safetensors(base::FileSystem& files, const std::filesystem::path& path,
                              std::span<const TensorSource> tensors, const Metadata& metadata) {
  const std::vector<std::size_t> order = storage_order(tensors);
  const std::string header = make_header(tensors, order, metadata);
  const std::unique_ptr<base::OutputFile> file = files.create(path);
  WrittenFile written;
  written.tensor_checksums.resize(tensors.size());
  written.header_checksum = base::xxh3(header);
  written.size = header.size();
  file->write(header);
  for (const std::size_t i : order) {
    const at::Tensor tensor = tensors[i].load().detach().to(at::kCPU);
    PACELINE_CHECK(tensor.sizes() == at::IntArrayRef(tensors[i].shape) &&
                       tensor.scalar_type() == tensors[i].dtype,
                   "tensor '{}' is not what its source said", tensors[i].name);
    base::Xxh3Stream hash;
    for_each_chunk(tensor, [&](std::string_view chunk) {
      hash.update(chunk);
      file->write(chunk);
      written.size += chunk.size();
    });
    written.tensor_checksums[i] = hash.digest();
  }
  file->sync();
  file->close();
  return written;
}

WrittenFile write_safetensors(base::FileSystem& files, const std::filesystem::path& path,
                              std::span<const NamedTensor> tensors, const Metadata& metadata) {
  return write_safetensors(files, path, sources_of(tensors), metadata);
}

}  // namespace paceline::checkpoint

#include "paceline/checkpoint/format/torch_file.h"

#include "paceline/base/error.h"
#include "paceline/checkpoint/format/dtypes.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include <fmt/format.h>

namespace paceline::checkpoint {
namespace {

using base::PickleValue;
using Kind = PickleValue::Kind;

constexpr std::string_view kZipStart = "PK\x03\x04";
// 0x1950a86a20f9469cfc6c, as a pickle of protocol 2 or more spells it.
constexpr std::string_view kMagic = "\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19";
constexpr std::int64_t kLegacyVersion = 1001;

std::uint64_t element_size(const StorageReference& storage) {
  return c10::elementSize(storage.dtype);
}

/// How many elements of a storage lie from a tensor's first to its last one; nothing if there are
/// more than 2^63.
std::optional<std::uint64_t> extent(const TensorReference& tensor) {
  std::int64_t last = 0;
  for (std::size_t i = 0; i < tensor.shape.size(); ++i) {
    if (tensor.shape[i] == 0) return 0;
    std::int64_t way = 0;
    if (__builtin_mul_overflow(tensor.shape[i] - 1, tensor.strides[i], &way) ||
        __builtin_add_overflow(last, way, &last))
      return std::nullopt;
  }
  return static_cast<std::uint64_t>(last) + 1;
}

/// a * b + c
std::optional<std::uint64_t> scaled(std::uint64_t a, std::uint64_t b, std::uint64_t c) {
  std::uint64_t result = 0;
  if (__builtin_mul_overflow(a, b, &result) || __builtin_add_overflow(result, c, &result))
    return std::nullopt;
  return result;
}

}  // namespace

bool is_torch_file(std::string_view start) {
  return start.starts_with(kZipStart) ||
         (start.starts_with('\x80') && start.size() > 2 && start.substr(0, 64).find(kMagic) < 16);
}

TorchFile::TorchFile(const std::filesystem::path& path) : path_(path), file_(path) {
  if (file_.bytes().starts_with(kZipStart)) {
    open_archive();
  } else {
    open_legacy();
  }
}

void TorchFile::fail(std::string_view what) const {
  throw base::CheckpointError(fmt::format("{}: {}", path_.string(), what));
}

std::span<const std::uint8_t> TorchFile::bytes(ByteRange range) const {
  const std::string_view text = file_.bytes().substr(range.begin, range.size());
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

base::ReadPickle TorchFile::read_pickle(ByteRange range) const {
  try {
    return read_torch_pickle(bytes(range));
  } catch (const base::PickleError& error) {
    fail(error.what());
  }
}

void TorchFile::open_archive() {
  constexpr std::string_view kPickle = "/data.pkl";
  constexpr std::string_view kStorages = "data/";
  const auto entries = read_zip_directory(file_.bytes(), path_);
  const auto pickle = std::ranges::find_if(entries, [&](const auto& entry) {
    return entry.first.ends_with(kPickle) &&
           entry.first.find('/') == entry.first.size() - kPickle.size();
  });
  if (pickle == entries.end())
    fail(
        "a zip archive, but not one of torch.save: it has no data.pkl. Unpack it, and name the "
        "file of weights in it");
  const std::string folder = pickle->first.substr(0, pickle->first.rfind('/') + 1);
  if (entries.contains(folder + "constants.pkl"))
    fail(
        "a TorchScript program; export its weights in Python with "
        "torch.save(torch.jit.load(FILE).state_dict(), 'weights.pt')");
  for (const auto& [name, entry] : entries) {
    if (!name.starts_with(folder)) continue;
    if (entry.is_compressed)
      fail(
          fmt::format("'{}' in it is compressed, and torch.save stores tensors as they are: write "
                      "it anew by torch.save(model.state_dict(), FILE)",
                      name));
    const std::string record = name.substr(folder.size());
    records_.emplace(record, entry.bytes);
    if (record.starts_with(kStorages))
      storages_.emplace(record.substr(kStorages.size()), entry.bytes);
  }
  if (record("byteorder").value_or("little") != "little") fail("its numbers are big endian");
  value_ = read_pickle(pickle->second.bytes).value;
}

std::optional<std::string_view> TorchFile::record(std::string_view name) const {
  const auto found = records_.find(name);
  if (found == records_.end()) return std::nullopt;
  return file_.bytes().substr(found->second.begin, found->second.size());
}

/// The pickles of a magic number, the version, the machine, what was saved, and the storages' keys;
/// then the storages (torch/serialization.py, _legacy_save).
void TorchFile::open_legacy() {
  std::uint64_t at = 0;
  const auto next = [&] {
    base::ReadPickle pickle = read_pickle({at, file_.bytes().size()});
    at += pickle.num_bytes;
    return std::move(pickle.value);
  };
  const auto magic = next();
  if (magic->kind != Kind::kBigInt || magic->text != kMagic)
    fail(
        "a pickle, but not one of torch.save; export weights in Python with "
        "torch.save(model.state_dict(), FILE)");
  const auto version = next();
  if (version->kind != Kind::kInt || version->integer != kLegacyVersion)
    fail(fmt::format("of version {} of torch.save's old format, known is {}", version->integer,
                     kLegacyVersion));
  const auto machine = next();
  const PickleValue* const is_little = machine->find("little_endian");
  if (is_little == nullptr || is_little->kind != Kind::kInt || is_little->integer == 0)
    fail("its numbers are big endian");
  value_ = next();
  read_legacy_storages(at);
}

void TorchFile::read_legacy_storages(std::uint64_t at) {
  std::map<std::string, std::uint64_t, std::less<>> element_sizes;
  visit_values(*value_, [&](const PickleValue& value) {
    if (value.kind != Kind::kReference) return;
    try {
      const StorageReference storage = storage_reference(value);
      element_sizes.emplace(storage.key, element_size(storage));
    } catch (const base::PickleError& error) {
      fail(fmt::format("damaged: {}", error.what()));
    }
  });
  const base::ReadPickle keys = read_pickle({at, file_.bytes().size()});
  at += keys.num_bytes;
  for (const PickleValue* key : keys.value->items) {
    const auto known = element_sizes.find(key->text);
    if (key->kind != Kind::kString || known == element_sizes.end())
      fail("damaged: it has a storage that no tensor names");
    const std::uint64_t left = file_.bytes().size() - at;
    std::uint64_t numel = 0;
    if (left >= sizeof(numel)) std::memcpy(&numel, file_.bytes().data() + at, sizeof(numel));
    const auto size = scaled(numel, known->second, sizeof(numel));
    if (left < sizeof(numel) || !size || *size > left)
      fail(fmt::format("truncated: storage '{}' would have {} elements, and {} bytes are left",
                       key->text, numel, left));
    if (!storages_.emplace(key->text, ByteRange{at + sizeof(numel), at + *size}).second)
      fail(fmt::format("damaged: it has two storages '{}'", key->text));
    at += *size;
  }
}

std::optional<StoredTensor> TorchFile::find_tensor(const PickleValue& value,
                                                   std::string_view name) const {
  const auto damaged = [&](std::string_view what) {
    fail(fmt::format("tensor '{}': {}", name, what));
  };
  std::optional<TensorReference> tensor;
  try {
    tensor = tensor_reference(value);
  } catch (const base::PickleError& error) {
    damaged(error.what());
  }
  if (!tensor) return std::nullopt;
  const auto storage = storages_.find(tensor->storage.key);
  if (storage == storages_.end())
    damaged(
        fmt::format("the file has no storage '{}': truncated, or damaged", tensor->storage.key));
  const std::uint64_t stored = storage->second.size();
  const auto told =
      scaled(static_cast<std::uint64_t>(tensor->storage.numel), element_size(tensor->storage), 0);
  if (told != stored)
    damaged(fmt::format("its storage '{}' has {} bytes, and should have {} elements of {}: damaged",
                        tensor->storage.key, stored, tensor->storage.numel,
                        c10::toString(tensor->storage.dtype)));
  const auto count = extent(*tensor);
  const std::uint64_t size = c10::elementSize(tensor->dtype);
  const auto view =
      scaled(static_cast<std::uint64_t>(tensor->storage.offset), element_size(tensor->storage), 0);
  const auto begin =
      view ? scaled(static_cast<std::uint64_t>(tensor->offset), size, *view) : std::nullopt;
  const auto end = begin && count ? scaled(*count, size, *begin) : std::nullopt;
  if (!end || *end > stored || !checked_numel(tensor->shape))
    damaged(fmt::format(
        "{} with strides {} from element {} on is more than its storage of {} "
        "bytes: damaged",
        shape_text(tensor->shape), shape_text(tensor->strides), tensor->offset, stored));
  return StoredTensor{tensor->dtype,
                      std::move(tensor->shape),
                      std::move(tensor->strides),
                      {storage->second.begin + *begin, storage->second.begin + *end}};
}

at::Tensor TorchFile::load(const StoredTensor& tensor) const {
  if (!file_.is_whole()) fail("it was cut off after it was opened; copy it again");
  const auto options = at::TensorOptions().dtype(tensor.dtype);
  if (tensor.bytes.size() == 0) return at::empty(tensor.shape, options);
  const char* const data = file_.bytes().data() + tensor.bytes.begin;
  const std::size_t size = c10::elementSize(tensor.dtype);
  if (reinterpret_cast<std::uintptr_t>(data) % size != 0) {
    const at::Tensor copy =
        at::empty({static_cast<std::int64_t>(tensor.bytes.size() / size)}, options);
    std::memcpy(copy.mutable_data_ptr(), data, tensor.bytes.size());
    return copy.as_strided(tensor.shape, tensor.strides);
  }
  // from_blob wants a mutable pointer; the mapping is private and read-only.
  return at::from_blob(const_cast<char*>(data), tensor.shape, tensor.strides, options);
}

}  // namespace paceline::checkpoint

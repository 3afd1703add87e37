#pragma once

#include "paceline/base/file.h"
#include "paceline/base/pickle/pickle.h"
#include "paceline/checkpoint/format/torch_pickle.h"
#include "paceline/checkpoint/format/zip_directory.h"
#include "paceline/tensor/aten.h"

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace paceline::checkpoint {

/// The entry of an archive under which this program's exports tell more than tensors: a JSON object
/// of texts, with the keys of safetensors' metadata. torch.load does not look at it.
inline constexpr std::string_view kTorchMetadata = "paceline.json";

/// A tensor in a file of torch.save.
struct StoredTensor {
  at::ScalarType dtype{};
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> strides;  ///< in elements
  ByteRange bytes;                    ///< of the file, from its first element to its last one
};

/// Whether bytes start as files of torch.save do.
bool is_torch_file(std::string_view start);

/// A file of torch.save (.pth, .pt, .bin), mapped into memory: a zip archive, or what PyTorch wrote
/// before 1.6. Nothing in it is run. The constructor reads the pickle and checks where the storages
/// lie; it throws CheckpointError that names the file, what is wrong and the cure.
class TorchFile {
 public:
  explicit TorchFile(const std::filesystem::path& path);

  const std::filesystem::path& path() const { return path_; }
  /// What was given to torch.save.
  const base::PickleValue& value() const { return *value_; }
  /// The tensor that a value in it is; nothing if it is something else. `name` is for messages.
  /// Throws CheckpointError, also if it reaches beyond its storage.
  std::optional<StoredTensor> find_tensor(const base::PickleValue& value,
                                          std::string_view name) const;
  /// A view of the file on the CPU, read-only and valid while this object lives; a copy where the
  /// elements are not aligned. Throws CheckpointError if the file has lost bytes since.
  at::Tensor load(const StoredTensor& tensor) const;
  /// Another entry of the archive, by its name without the archive's; nothing if there is none.
  std::optional<std::string_view> record(std::string_view name) const;

 private:
  [[noreturn]] void fail(std::string_view what) const;
  std::span<const std::uint8_t> bytes(ByteRange range) const;
  base::ReadPickle read_pickle(ByteRange range) const;
  void open_archive();
  void open_legacy();
  void read_legacy_storages(std::uint64_t at);

  std::filesystem::path path_;
  base::MappedFile file_;
  std::shared_ptr<const base::PickleValue> value_;
  std::map<std::string, ByteRange, std::less<>> records_;   ///< of an archive
  std::map<std::string, ByteRange, std::less<>> storages_;  ///< by their keys
};

}  // namespace paceline::checkpoint

#pragma once

#include "paceline/base/file.h"
#include "paceline/tensor/aten.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace paceline::checkpoint {

/// The safetensors format, as github.com/huggingface/safetensors describes it: the header's length
/// (8 bytes, little-endian), a JSON header, then the tensors, row-major, without holes. Dtypes that
/// both sides know: F64 F32 F16 BF16 I64 I32 I16 I8 U8 BOOL.

struct NamedTensor {
  std::string name;
  at::Tensor tensor;
};
using Metadata = std::map<std::string, std::string>;

struct WrittenFile {
  std::uint64_t size = 0;
  std::uint64_t header_checksum = 0;            ///< xxh3 of what comes before the tensors
  std::vector<std::uint64_t> tensor_checksums;  ///< xxh3 of each tensor's bytes, in the order given
};

/// A tensor that is made when its turn to be written has come.
struct TensorSource {
  std::string name;
  at::ScalarType dtype{};
  std::vector<std::int64_t> shape;
  std::function<at::Tensor()> load;  ///< called once; gives a tensor of that dtype and shape
};

/// Sources of tensors that are there; the tensors must outlive them.
std::vector<TensorSource> sources_of(std::span<const NamedTensor> tensors);

/// Writes the tensors to a new file and fsyncs it. Tensors of any device and layout are stored
/// row-major, one at a time, so that memory for one of them is enough. The names must differ.
/// Throws CheckpointError that names the file.
WrittenFile write_safetensors(base::FileSystem& files, const std::filesystem::path& path,
                              std::span<const TensorSource> tensors, const Metadata& metadata);
WrittenFile write_safetensors(base::FileSystem& files, const std::filesystem::path& path,
                              std::span<const NamedTensor> tensors, const Metadata& metadata);

/// A safetensors file mapped into memory. The constructor checks all that can be checked without
/// reading the tensors (lengths, bounds, holes, overlap, dtypes, sizes); it throws CheckpointError
/// that names the file and the tensor.
class SafetensorsFile {
 public:
  struct Entry {
    std::string name;
    at::ScalarType dtype{};
    std::vector<std::int64_t> shape;
    std::uint64_t begin = 0;  ///< bytes in the file
    std::uint64_t end = 0;
  };

  explicit SafetensorsFile(const std::filesystem::path& path);

  const std::filesystem::path& path() const { return path_; }
  /// In the order in which they lie in the file.
  const std::vector<Entry>& entries() const { return entries_; }
  const Metadata& metadata() const { return metadata_; }
  /// nullptr when there is none.
  const Entry* find(std::string_view name) const;

  /// Throws CheckpointError if the file has lost bytes since it was opened, as does tensor().
  std::string_view bytes(const Entry& entry) const;
  std::string_view all_bytes() const { return file_.bytes(); }
  /// What comes before the tensors.
  std::string_view header() const { return file_.bytes().substr(0, data_begin_); }
  /// On the CPU; read-only, and valid while this object lives.
  at::Tensor tensor(const Entry& entry) const;

 private:
  std::filesystem::path path_;
  base::MappedFile file_;
  std::vector<Entry> entries_;
  Metadata metadata_;
  std::uint64_t data_begin_ = 0;
  std::map<std::string, std::size_t, std::less<>> index_;  ///< of entries_ by name
};

}  // namespace paceline::checkpoint

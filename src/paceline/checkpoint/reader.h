#pragma once

#include "paceline/checkpoint/bulk_copy.h"
#include "paceline/checkpoint/format/safetensors.h"
#include "paceline/checkpoint/manifest.h"
#include "paceline/comm/communicator.h"
#include "paceline/tensor/state_shard.h"

#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace paceline::checkpoint {

/// What one of the ranks that read a checkpoint together checks of it: of as many files as ranks
/// one, the one that it has written.
struct ReadShare {
  int rank = 0;
  int world_size = 1;

  bool has_file(std::size_t file, std::size_t num_files) const;
  /// `slice` counts those of the file.
  bool has_slice(std::size_t file, std::size_t num_files, std::size_t slice) const;
};

/// A checkpoint's directory, open for reading. Any number of ranks may have written it. Opens the
/// files that hold what it is asked for, and those of its share.
class CheckpointReader {
 public:
  /// Reads the manifest and checks the sizes of its share of the files; reads no tensor. Throws
  /// CheckpointError that names the file and, if it is cut off, the first tensor that is not whole.
  explicit CheckpointReader(const std::filesystem::path& directory, ReadShare share = {});
  CheckpointReader(const CheckpointReader&) = delete;
  CheckpointReader& operator=(const CheckpointReader&) = delete;

  const std::filesystem::path& directory() const { return directory_; }
  const Manifest& manifest() const { return manifest_; }
  /// nullptr when there is none.
  const TensorRecord* find(const std::string& name) const;

  /// Reads its share of the slices and compares them with their checksums, and their files' headers
  /// with the manifest; once they were good, a later call does nothing. Uses as many threads as
  /// LibTorch has. Throws CheckpointError that names the files and the tensors that are damaged.
  void verify();
  /// Opens and checks the files that fill() will read, which must not fail half way.
  void open_for(std::span<const tensor::StateShard> shards);
  std::size_t num_open_files() const;

  /// A copy of a whole tensor, on the CPU, row-major.
  at::Tensor tensor(const std::string& name);
  /// Copies this rank's elements into the shards, converting nothing; they must have no mismatch().
  /// Where the saved order of a tensor's elements is another one, memory for that tensor is needed.
  void fill(std::span<const tensor::StateShard> shards);
  /// What is wrong with loading into a shard ("saved as F32 [10, 3], wanted ..."), or nothing.
  std::string mismatch(const tensor::StateShard& shard) const;

 private:
  struct StoredSlice {
    const TensorRecord* record;
    const SliceRecord* slice;
  };
  struct StoredFile {
    const FileRecord* record = nullptr;
    std::vector<StoredSlice> slices;
    std::unique_ptr<SafetensorsFile> opened;  ///< and compared with the manifest
  };

  /// Opens the file if need be, and compares its header with the manifest then.
  const SafetensorsFile& open(StoredFile& file);
  const SafetensorsFile& file_of(const SliceRecord& slice) { return open(files_.at(slice.file)); }
  /// Copies elements [begin, end) of a tensor, in its saved order, into a flat tensor of that
  /// length; into one on the CPU when `copies` are run.
  void copy_range(const TensorRecord& record, std::int64_t begin, std::int64_t end,
                  const at::Tensor& flat, BulkCopy& copies);
  void fill(const tensor::StateShard& shard, BulkCopy& copies);
  /// All elements in the saved order, [numel]: of the mapped file if they lie there in one piece.
  at::Tensor all_elements(const TensorRecord& record);

  std::filesystem::path directory_;
  Manifest manifest_;
  ReadShare share_;
  bool is_verified_ = false;
  std::map<std::string, std::size_t> index_;  ///< of manifest_.tensors by name
  std::map<std::string, StoredFile> files_;   ///< by name
};

/// Opens a checkpoint on every rank. Every rank must call it; throws the same CheckpointError on
/// all.
std::unique_ptr<CheckpointReader> open_checkpoint(const std::filesystem::path& directory,
                                                  comm::Communicator& communicator);

/// What to do with saved tensors that nothing asked for, such as an optimizer's state in an
/// evaluation.
enum class ExtraTensors {
  kRefuse,
  kIgnoreAlgorithms,  ///< those that an algorithm owned; refuse others
  kIgnore,
};

/// Fills the shards of all ranks, with whatever number of ranks the checkpoint was saved, but for
/// those that are per rank if it was another. All of it is verified before the first shard changes.
/// Every rank must call it. Throws the same CheckpointError on all ranks; for a checkpoint of
/// another model it lists every tensor that is missing, extra or of another shape or dtype, for one
/// of a run that had diverged those that hold NaN or infinite values.
void load_checkpoint(CheckpointReader& reader, std::span<const tensor::StateShard> shards,
                     ExtraTensors extra, comm::Communicator& communicator);

}  // namespace paceline::checkpoint

#include "paceline/checkpoint/reader.h"

#include "paceline/base/error.h"
#include "paceline/base/file_status.h"
#include "paceline/base/hash.h"
#include "paceline/base/log.h"
#include "paceline/base/parallel_for.h"
#include "paceline/checkpoint/agreement.h"
#include "paceline/checkpoint/dtypes.h"
#include "paceline/checkpoint/finite_check.h"
#include "paceline/tensor/element_order.h"

#include <algorithm>
#include <mutex>
#include <set>
#include <sstream>

#include <ATen/Parallel.h>

namespace paceline::checkpoint {
namespace {

namespace fs = std::filesystem;
using base::CheckpointError;
using tensor::StateShard;

std::string describe(std::string_view dtype, std::span<const std::int64_t> shape) {
  return fmt::format("{} {}", dtype, shape_text(shape));
}

/// What any rank wants: one that shards may hold nothing of a small tensor.
std::set<std::string> names_on_all_ranks(std::span<const StateShard> shards,
                                         comm::Communicator& communicator) {
  std::string own;
  for (const StateShard& shard : shards) own += shard.name + '\n';
  std::set<std::string> names;
  for (const std::string& text : communicator.all_gather_text(own)) {
    std::istringstream lines(text);
    for (std::string name; std::getline(lines, name);) names.insert(name);
  }
  return names;
}

/// What another strategy or number of ranks may lack.
bool is_dispensable(std::string_view name) {
  return name.starts_with(tensor::kRankBuffers) || name.starts_with(tensor::kCompression);
}

/// Whether a run must do without what it would have in a shard: saved by other ranks or not at all.
bool is_lacking(const CheckpointReader& reader, const StateShard& shard) {
  const TensorRecord* record = reader.find(shard.name);
  if (record == nullptr) return is_dispensable(shard.name);
  return shard.is_per_rank && record->shape.size() == shard.shape.size() &&
         record->shape.front() != shard.shape.front();
}

/// Every difference between what is saved and what is wanted, a line each.
std::vector<std::string> all_mismatches(const CheckpointReader& reader,
                                        std::span<const StateShard> shards,
                                        const std::set<std::string>& wanted, ExtraTensors extra) {
  std::vector<std::string> lines;
  for (const StateShard& shard : shards) {
    if (const std::string problem = reader.mismatch(shard); !problem.empty()) {
      lines.push_back(fmt::format("{}: {}", shard.name, problem));
    }
  }
  if (extra == ExtraTensors::kIgnore) return lines;
  for (const TensorRecord& record : reader.manifest().tensors) {
    if (!wanted.contains(record.name) && !is_dispensable(record.name)) {
      lines.push_back(fmt::format("{}: saved as {}, not in this run", record.name,
                                  describe(record.dtype, record.shape)));
    }
  }
  return lines;
}

/// A slice and its bytes in the mapped file.
struct Stored {
  const TensorRecord* record;
  const SliceRecord* slice;
  std::string_view bytes;
};

/// Those whose bytes do not fit their checksums, by as many threads as LibTorch has.
std::vector<const Stored*> damaged_ones(const std::vector<Stored>& slices) {
  std::mutex mutex;
  std::vector<const Stored*> damaged;
  base::parallel_for(std::ssize(slices), at::get_num_threads(), [&](std::int64_t i) {
    const Stored& stored = slices[static_cast<std::size_t>(i)];
    if (base::xxh3(stored.bytes) == stored.slice->checksum) return;
    const std::lock_guard lock(mutex);
    damaged.push_back(&stored);
  });
  std::sort(damaged.begin(), damaged.end());
  return damaged;
}

/// A state that was not finite is not saved, since version 3.
void refuse_diverged(const CheckpointReader& reader, std::span<const StateShard> shards,
                     comm::Communicator& communicator) {
  if (reader.manifest().version >= 3) return;
  const std::string problem = find_non_finite(shards, communicator);
  if (problem.empty()) return;
  throw CheckpointError(
      fmt::format("{}: {}; choose an earlier checkpoint", reader.directory().string(), problem));
}

}  // namespace

CheckpointReader::CheckpointReader(const fs::path& directory) : directory_(directory) {
  const fs::path manifest_path = directory / kManifestFile;
  if (!base::folder_exists(directory)) {
    throw CheckpointError(fmt::format("{}: there is no such checkpoint", directory.string()));
  }
  if (!base::file_exists(manifest_path)) {
    throw CheckpointError(fmt::format("{}: not a complete checkpoint: it has no {}",
                                      directory.string(), kManifestFile));
  }
  manifest_ = decode(base::MappedFile(manifest_path).bytes(), manifest_path);
  for (std::size_t i = 0; i < manifest_.tensors.size(); ++i) index_[manifest_.tensors[i].name] = i;
  for (const FileRecord& file : manifest_.files) {
    std::error_code error;
    const auto size = fs::file_size(directory / file.name, error);
    if (error) throw base::FileError("read", directory / file.name, error.value());
    if (size == file.size) continue;
    open(file.name);  // knows which tensor is cut off, and throws
    throw CheckpointError(fmt::format("{}: it has {} bytes, {} were saved",
                                      (directory / file.name).string(), size, file.size));
  }
}

const TensorRecord* CheckpointReader::find(const std::string& name) const {
  const auto found = index_.find(name);
  return found == index_.end() ? nullptr : &manifest_.tensors[found->second];
}

SafetensorsFile& CheckpointReader::open(const std::string& file) {
  std::unique_ptr<SafetensorsFile>& opened = open_files_[file];
  if (!opened) opened = std::make_unique<SafetensorsFile>(directory_ / file);
  return *opened;
}

void CheckpointReader::verify(int share, int num_shares) {
  check_headers();
  std::vector<Stored> own;
  std::size_t number = 0;
  for (const TensorRecord& record : manifest_.tensors) {
    for (const SliceRecord& slice : record.slices) {
      if (number++ % static_cast<std::size_t>(num_shares) != static_cast<std::size_t>(share))
        continue;
      const SafetensorsFile& file = open(slice.file);
      own.push_back({&record, &slice, file.bytes(*file.find(slice.tensor))});
    }
  }
  std::map<std::string, std::vector<std::string>> damaged;  // tensors by file
  for (const Stored* stored : damaged_ones(own)) {
    damaged[stored->slice->file].push_back(fmt::format("'{}'", stored->record->name));
  }
  if (damaged.empty()) return;
  std::vector<std::string> lines;
  for (const auto& [file, tensors] : damaged) {
    lines.push_back(fmt::format("{}: damaged: tensor {} was changed", (directory_ / file).string(),
                                fmt::join(tensors, ", ")));
  }
  throw CheckpointError(fmt::format("{}", fmt::join(lines, "; ")));
}

void CheckpointReader::check_headers() {
  if (has_checked_headers_) return;
  for (const FileRecord& file : manifest_.files) {
    if (file.header_checksum && base::xxh3(open(file.name).header()) != *file.header_checksum) {
      throw CheckpointError(
          fmt::format("{}: damaged: its header was changed", (directory_ / file.name).string()));
    }
  }
  for (const TensorRecord& record : manifest_.tensors) {
    for (const SliceRecord& slice : record.slices) {
      const auto* entry = open(slice.file).find(slice.tensor);
      if (entry == nullptr || dtype_name(entry->dtype) != record.dtype ||
          checked_numel(entry->shape) != slice.end - slice.begin) {
        throw CheckpointError(fmt::format("{}: tensor '{}' is not what {} says",
                                          (directory_ / slice.file).string(), slice.tensor,
                                          kManifestFile));
      }
    }
  }
  has_checked_headers_ = true;
}

void CheckpointReader::copy_range(const TensorRecord& record, std::int64_t begin, std::int64_t end,
                                  const at::Tensor& flat, BulkCopy& copies) {
  for (const SliceRecord& slice : record.slices) {
    const std::int64_t first = std::max(begin, slice.begin);
    const std::int64_t last = std::min(end, slice.end);
    if (first >= last) continue;
    const SafetensorsFile& file = open(slice.file);
    const auto& entry = *file.find(slice.tensor);
    const auto element = static_cast<std::int64_t>(flat.element_size());
    if (flat.is_cpu()) {
      const auto range =
          file.bytes(entry).substr(static_cast<std::size_t>((first - slice.begin) * element),
                                   static_cast<std::size_t>((last - first) * element));
      copies.add(static_cast<char*>(flat.mutable_data_ptr()) + (first - begin) * element,
                 range.data(), range.size());
    } else {
      flat.slice(0, first - begin, last - begin)
          .copy_(file.tensor(entry).view(-1).slice(0, first - slice.begin, last - slice.begin));
    }
  }
}

at::Tensor CheckpointReader::tensor(const std::string& name) {
  const TensorRecord* record = find(name);
  if (record == nullptr) {
    throw CheckpointError(fmt::format("{}: there is no tensor '{}'", directory_.string(), name));
  }
  check_headers();
  at::Tensor whole = at::empty(record->shape, at::TensorOptions(*dtype_from_name(record->dtype)));
  if (record->order.empty()) {
    BulkCopy copies;
    copy_range(*record, 0, whole.numel(), whole.view(-1), copies);
    copies.run();
  } else {
    whole.copy_(tensor::whole_of(all_elements(*record), record->shape, record->order));
  }
  return whole;
}

at::Tensor CheckpointReader::all_elements(const TensorRecord& record) {
  if (record.slices.size() == 1) {
    const SliceRecord& slice = record.slices[0];
    const SafetensorsFile& file = open(slice.file);
    return file.tensor(*file.find(slice.tensor)).view(-1);
  }
  const std::int64_t numel = *checked_numel(record.shape);
  at::Tensor flat = at::empty({numel}, at::TensorOptions(*dtype_from_name(record.dtype)));
  BulkCopy copies;
  copy_range(record, 0, numel, flat, copies);
  copies.run();
  return flat;
}

void CheckpointReader::fill(std::span<const StateShard> shards) {
  const at::NoGradGuard no_grad;
  check_headers();
  for (const bool is_per_rank : {false, true}) {  // a rank's own values take the place of rank 0's
    BulkCopy copies;
    for (const StateShard& shard : shards) {
      if (shard.is_per_rank != is_per_rank) continue;
      fill(shard, copies);
      shard.data.unsafeGetTensorImpl()->bump_version();
    }
    copies.run();
  }
}

void CheckpointReader::fill(const StateShard& shard, BulkCopy& copies) {
  const TensorRecord& record = *find(shard.name);
  const tensor::ElementOrder order = tensor::canonical_order(shard.order, shard.shape);
  const bool has_shape = shard.data.sizes() == at::IntArrayRef(shard.shape);
  if (!has_shape && order == record.order) {
    copy_range(record, shard.begin, shard.end, shard.data, copies);
    return;
  }
  if (has_shape && tensor::in_order(shard.data, record.order).is_contiguous()) {
    copy_range(record, shard.begin, shard.end, tensor::in_order(shard.data, record.order).view(-1),
               copies);
    return;
  }
  const at::Tensor whole = tensor::whole_of(all_elements(record), record.shape, record.order);
  shard.data.copy_(has_shape ? whole : tensor::cut(whole, order, shard.begin, shard.end));
}

std::string CheckpointReader::mismatch(const StateShard& shard) const {
  const TensorRecord* record = find(shard.name);
  const std::string_view dtype = dtype_name(shard.data.scalar_type());
  if (record == nullptr) return fmt::format("not saved, wanted {}", describe(dtype, shard.shape));
  if (record->shape != shard.shape || record->dtype != dtype) {
    return fmt::format("saved as {}, wanted {}", describe(record->dtype, record->shape),
                       describe(dtype, shard.shape));
  }
  return {};
}

std::unique_ptr<CheckpointReader> open_checkpoint(const fs::path& directory,
                                                  comm::Communicator& communicator) {
  std::unique_ptr<CheckpointReader> reader;
  on_all_ranks(communicator, "cannot open the checkpoint",
               [&] { reader = std::make_unique<CheckpointReader>(directory); });
  return reader;
}

void load_checkpoint(CheckpointReader& reader, std::span<const StateShard> all_shards,
                     ExtraTensors extra, comm::Communicator& communicator) {
  const std::set<std::string> wanted = names_on_all_ranks(all_shards, communicator);
  std::vector<StateShard> shards(all_shards.begin(), all_shards.end());
  const std::size_t num_left_out =
      std::erase_if(shards, [&](const StateShard& shard) { return is_lacking(reader, shard); });
  on_all_ranks(communicator, "cannot load the checkpoint", [&] {
    const std::vector<std::string> lines = all_mismatches(reader, shards, wanted, extra);
    if (!lines.empty()) {
      throw CheckpointError(
          fmt::format("{} is of another model or optimizer; {} of its tensors differ:\n  {}",
                      reader.directory().string(), lines.size(), fmt::join(lines, "\n  ")));
    }
    reader.verify(communicator.rank(), communicator.world_size());
  });
  on_all_ranks(communicator, "the checkpoint was loaded in part only, do not go on",
               [&] { reader.fill(shards); });
  refuse_diverged(reader, shards, communicator);
  if (num_left_out > 0 && communicator.rank() == 0) {
    base::log_warning(
        "{}: what each rank has of its own, and what compression remembers ({} tensors), was not "
        "saved for {} ranks: all start from rank 0's buffers, and compression starts anew",
        reader.directory().string(), num_left_out, communicator.world_size());
  }
}

}  // namespace paceline::checkpoint

#include "paceline/checkpoint/reader.h"

#include "paceline/base/error.h"
#include "paceline/base/file_status.h"
#include "paceline/base/hash.h"
#include "paceline/base/log.h"
#include "paceline/base/parallel_for.h"
#include "paceline/checkpoint/agreement.h"
#include "paceline/checkpoint/finite_check.h"
#include "paceline/checkpoint/format/dtypes.h"
#include "paceline/comm/agreement.h"
#include "paceline/tensor/element_order.h"

#include <algorithm>
#include <mutex>
#include <set>
#include <string_view>

#include <ATen/Parallel.h>

namespace paceline::checkpoint {
namespace {

namespace fs = std::filesystem;
using base::CheckpointError;
using tensor::StateShard;

std::string describe(std::string_view dtype, std::span<const std::int64_t> shape) {
  return fmt::format("{} {}", dtype, shape_text(shape));
}

/// Which of the saved tensors any rank wants: one that shards may hold nothing of a small tensor.
std::vector<bool> wanted_on_any_rank(const Manifest& manifest, std::span<const StateShard> shards,
                                     comm::Communicator& communicator) {
  std::set<std::string_view> own;
  for (const StateShard& shard : shards) own.insert(shard.name);
  const at::Tensor marks = at::zeros({std::ssize(manifest.tensors)}, at::kLong);
  auto* const mark = marks.mutable_data_ptr<std::int64_t>();
  for (std::size_t i = 0; i < manifest.tensors.size(); ++i)
    mark[i] = own.contains(manifest.tensors[i].name) ? 1 : 0;
  if (communicator.world_size() > 1)
    communicator.all_reduce(marks, comm::ReduceOp::kMax, "tensors to load")->wait();
  return std::vector<bool>(mark, mark + marks.numel());
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
                                        const std::vector<bool>& wanted, ExtraTensors extra) {
  std::vector<std::string> lines;
  for (const StateShard& shard : shards) {
    if (const std::string problem = reader.mismatch(shard); !problem.empty()) {
      lines.push_back(fmt::format("{}: {}", shard.name, problem));
    }
  }
  if (extra == ExtraTensors::kIgnore) return lines;
  const std::vector<TensorRecord>& saved = reader.manifest().tensors;
  for (std::size_t i = 0; i < saved.size(); ++i) {
    const TensorRecord& record = saved[i];
    const bool is_ignored =
        extra == ExtraTensors::kIgnoreAlgorithms && record.name.starts_with(tensor::kAlgorithms);
    if (!wanted[i] && !is_ignored && !is_dispensable(record.name)) {
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

[[noreturn]] void refuse_other_tensors(const CheckpointReader& reader,
                                       std::span<const std::string> lines) {
  constexpr std::size_t kMost = 10;
  const auto shown = lines.first(std::min(kMost, lines.size()));
  const std::size_t num_more = lines.size() - shown.size();
  throw CheckpointError(fmt::format(
      "{} is of another model or optimizer; {} of its tensors differ:\n  {}{}\nLeave model and "
      "optimizer as the run has them; other shapes are another run",
      reader.directory().string(), lines.size(), fmt::join(shown, "\n  "),
      num_more > 0 ? fmt::format("\n  and {} more", num_more) : ""));
}

}  // namespace

bool ReadShare::has_file(std::size_t file, std::size_t num_files) const {
  return has_slice(file, num_files, 0);
}

bool ReadShare::has_slice(std::size_t file, std::size_t num_files, std::size_t slice) const {
  const auto own = static_cast<std::size_t>(rank);
  const auto ranks = static_cast<std::size_t>(world_size);
  if (num_files >= ranks) return file % ranks == own;
  const std::size_t num_readers = (ranks - file + num_files - 1) / num_files;
  return own % num_files == file && slice % num_readers == own / num_files;
}

CheckpointReader::CheckpointReader(const fs::path& directory, ReadShare share)
    : directory_(directory), share_(share) {
  const fs::path manifest_path = directory / kManifestFile;
  if (!base::folder_exists(directory)) {
    throw CheckpointError(fmt::format("{}: there is no such checkpoint", directory.string()));
  }
  if (!base::file_exists(manifest_path)) {
    throw CheckpointError(fmt::format("{}: not a complete checkpoint: it has no {}",
                                      directory.string(), kManifestFile));
  }
  manifest_ = decode(base::MappedFile(manifest_path).bytes(), manifest_path);
  for (std::size_t i = 0; i < manifest_.tensors.size(); ++i) {
    const TensorRecord& record = manifest_.tensors[i];
    index_[record.name] = i;
    for (const SliceRecord& slice : record.slices)
      files_[slice.file].slices.push_back({&record, &slice});
  }
  for (const FileRecord& file : manifest_.files) files_[file.name].record = &file;
  for (std::size_t i = 0; i < manifest_.files.size(); ++i) {
    if (!share_.has_file(i, manifest_.files.size())) continue;
    const FileRecord& file = manifest_.files[i];
    std::error_code error;
    const auto size = fs::file_size(directory / file.name, error);
    if (error) throw base::FileError("read", directory / file.name, error.value());
    if (size == file.size) continue;
    const SafetensorsFile opened(directory /
                                 file.name);  // knows which tensor is cut off, and throws
    throw CheckpointError(fmt::format("{}: it has {} bytes, {} were saved",
                                      (directory / file.name).string(), size, file.size));
  }
}

const TensorRecord* CheckpointReader::find(const std::string& name) const {
  const auto found = index_.find(name);
  return found == index_.end() ? nullptr : &manifest_.tensors[found->second];
}

void CheckpointReader::verify() {
  if (is_verified_) return;
  std::vector<Stored> own;
  for (std::size_t file = 0; file < manifest_.files.size(); ++file) {
    StoredFile& stored = files_.at(manifest_.files[file].name);
    for (std::size_t i = 0; i < stored.slices.size(); ++i) {
      if (!share_.has_slice(file, manifest_.files.size(), i)) continue;
      const SafetensorsFile& opened = open(stored);
      const auto& [record, slice] = stored.slices[i];
      own.push_back({record, slice, opened.bytes(*opened.find(slice->tensor))});
    }
  }
  std::map<std::string, std::vector<std::string>> damaged;  // tensors by file
  for (const Stored* stored : damaged_ones(own)) {
    damaged[stored->slice->file].push_back(fmt::format("'{}'", stored->record->name));
  }
  is_verified_ = damaged.empty();
  if (is_verified_) return;
  std::vector<std::string> lines;
  for (const auto& [file, tensors] : damaged) {
    lines.push_back(fmt::format("{}: damaged: tensor {} was changed", (directory_ / file).string(),
                                fmt::join(tensors, ", ")));
  }
  throw CheckpointError(fmt::format("{}", fmt::join(lines, "; ")));
}

const SafetensorsFile& CheckpointReader::open(StoredFile& file) {
  if (file.opened) return *file.opened;
  const FileRecord& record = *file.record;
  const fs::path path = directory_ / record.name;
  auto opened = std::make_unique<SafetensorsFile>(path);
  if (record.header_checksum && base::xxh3(opened->header()) != *record.header_checksum)
    throw CheckpointError(fmt::format("{}: damaged: its header was changed", path.string()));
  for (const auto& [tensor, slice] : file.slices) {
    const auto* entry = opened->find(slice->tensor);
    if (entry == nullptr || dtype_name(entry->dtype) != tensor->dtype ||
        checked_numel(entry->shape) != slice->end - slice->begin) {
      throw CheckpointError(fmt::format("{}: tensor '{}' is not what {} says", path.string(),
                                        slice->tensor, kManifestFile));
    }
  }
  file.opened = std::move(opened);
  return *file.opened;
}

std::size_t CheckpointReader::num_open_files() const {
  return static_cast<std::size_t>(std::ranges::count_if(
      files_, [](const auto& file) { return file.second.opened != nullptr; }));
}

void CheckpointReader::open_for(std::span<const StateShard> shards) {
  for (const StateShard& shard : shards) {
    const TensorRecord& record = *find(shard.name);
    const bool reads_all = tensor::canonical_order(shard.order, shard.shape) != record.order;
    for (const SliceRecord& slice : record.slices) {
      if (reads_all || (slice.begin < shard.end && shard.begin < slice.end)) file_of(slice);
    }
  }
}

void CheckpointReader::copy_range(const TensorRecord& record, std::int64_t begin, std::int64_t end,
                                  const at::Tensor& flat, BulkCopy& copies) {
  for (const SliceRecord& slice : record.slices) {
    const std::int64_t first = std::max(begin, slice.begin);
    const std::int64_t last = std::min(end, slice.end);
    if (first >= last) continue;
    const SafetensorsFile& file = file_of(slice);
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
    const SafetensorsFile& file = file_of(slice);
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
  on_all_ranks(communicator, "cannot open the checkpoint", [&] {
    reader = std::make_unique<CheckpointReader>(
        directory, ReadShare{communicator.rank(), communicator.world_size()});
  });
  comm::agree(communicator, {{"the checkpoint's manifest",
                              fmt::format("{:016x}", base::xxh3(encode(reader->manifest())))}});
  return reader;
}

void load_checkpoint(CheckpointReader& reader, std::span<const StateShard> all_shards,
                     ExtraTensors extra, comm::Communicator& communicator) {
  const std::vector<bool> wanted = wanted_on_any_rank(reader.manifest(), all_shards, communicator);
  std::vector<StateShard> shards(all_shards.begin(), all_shards.end());
  const std::size_t num_left_out =
      std::erase_if(shards, [&](const StateShard& shard) { return is_lacking(reader, shard); });
  on_all_ranks(communicator, "cannot load the checkpoint", [&] {
    const std::vector<std::string> lines = all_mismatches(reader, shards, wanted, extra);
    if (!lines.empty()) refuse_other_tensors(reader, lines);
    reader.verify();
    reader.open_for(shards);
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

#include "paceline/checkpoint/rank_files.h"

#include "paceline/base/error.h"
#include "paceline/base/json.h"
#include "paceline/checkpoint/directory.h"
#include "paceline/checkpoint/finite_check.h"
#include "paceline/checkpoint/format/dtypes.h"
#include "paceline/checkpoint/format/safetensors.h"
#include "paceline/checkpoint/listing.h"
#include "paceline/comm/agreement.h"
#include "paceline/tensor/element_order.h"

#include <algorithm>
#include <map>
#include <optional>

namespace paceline::checkpoint {
namespace {

namespace fs = std::filesystem;
using base::CheckpointError;
using Json = nlohmann::json;
using tensor::StateShard;

/// What a rank wrote, for rank 0's manifest.
struct RankReport {
  std::optional<FileRecord> file;
  std::vector<TensorRecord> tensors;  ///< with one slice each
};

bool is_whole(const StateShard& shard) {
  return shard.begin == 0 && shard.end == checked_numel(shard.shape);
}

/// Its name in the file: a rank may hold several ranges of one tensor.
std::string name_in_file(const StateShard& shard) {
  return is_whole(shard) ? shard.name
                         : fmt::format("{}[{}:{}]", shard.name, shard.begin, shard.end);
}

void check_shard(const StateShard& shard) {
  const auto numel = checked_numel(shard.shape);
  PACELINE_CHECK(numel && 0 <= shard.begin && shard.begin <= shard.end && shard.end <= *numel &&
                     shard.data.numel() == shard.end - shard.begin,
                 "shard '{}' holds {} elements and claims [{}, {}) of {}", shard.name,
                 shard.data.numel(), shard.begin, shard.end, shape_text(shard.shape));
  PACELINE_CHECK(tensor::is_order(shard.order, shard.shape.size()), "shard '{}' has no order",
                 shard.name);
}

/// What is written for a shard: a whole tensor in its own shape and row-major, so that other
/// programs can read it, a piece as it is.
at::Tensor stored_form(const StateShard& shard) {
  const at::Tensor data = shard.data.detach();
  const bool has_shape = data.sizes() == at::IntArrayRef(shard.shape);
  return is_whole(shard) && !has_shape ? tensor::whole_of(data, shard.shape, shard.order) : data;
}

/// Whether a shard is this rank's to write, and not empty.
bool is_written(const StateShard& shard) {
  return shard.is_writer && (shard.begin != shard.end || is_whole(shard));
}

RankReport write_shards(std::span<const StateShard> shards, const fs::path& directory, int rank,
                        base::FileSystem& files) {
  RankReport report;
  std::vector<NamedTensor> tensors;
  const std::string file_name = fmt::format("rank-{}.safetensors", rank);
  for (const StateShard& shard : shards) {
    check_shard(shard);
    if (!is_written(shard)) continue;
    tensors.push_back({name_in_file(shard), stored_form(shard)});
    report.tensors.push_back(
        {.name = shard.name,
         .dtype = std::string(dtype_name(shard.data.scalar_type())),
         .shape = shard.shape,
         .order = is_whole(shard) ? tensor::ElementOrder()
                                  : tensor::canonical_order(shard.order, shard.shape),
         .slices = {{file_name, name_in_file(shard), shard.begin, shard.end, 0}}});
  }
  if (tensors.empty()) return report;
  const WrittenFile written = write_safetensors(files, directory / file_name, tensors, {});
  report.file = {file_name, written.size, written.header_checksum};
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    report.tensors[i].slices[0].checksum = written.tensor_checksums[i];
  }
  return report;
}

std::string encode(const RankReport& report) {
  Json json = {{"file", nullptr}, {"tensors", Json::array()}};
  if (report.file)
    json["file"] = {report.file->name, report.file->size, *report.file->header_checksum};
  for (const TensorRecord& tensor : report.tensors) {
    const SliceRecord& slice = tensor.slices[0];
    json["tensors"].push_back({tensor.name, tensor.dtype, tensor.shape, tensor.order, slice.file,
                               slice.tensor, slice.begin, slice.end, slice.checksum});
  }
  return json.dump();
}

/// Adds a rank's report to the manifest; `index` finds tensors by name.
void merge(const std::string& text, Manifest& manifest, std::map<std::string, std::size_t>& index) {
  const Json json = base::parse_json(text);
  if (!json["file"].is_null()) {
    const Json& file = json["file"];
    manifest.files.push_back(
        {file[0].get<std::string>(), file[1].get<std::uint64_t>(), file[2].get<std::uint64_t>()});
  }
  for (const Json& tensor : json["tensors"]) {
    const auto name = tensor[0].get<std::string>();
    const auto [found, is_new] = index.try_emplace(name, manifest.tensors.size());
    if (is_new) {
      manifest.tensors.push_back({.name = name,
                                  .dtype = tensor[1].get<std::string>(),
                                  .shape = tensor[2].get<std::vector<std::int64_t>>(),
                                  .order = tensor[3].get<tensor::ElementOrder>(),
                                  .slices = {}});
    }
    TensorRecord& record = manifest.tensors[found->second];
    PACELINE_CHECK(record.dtype == tensor[1] && Json(record.shape) == tensor[2] &&
                       Json(record.order) == tensor[3],
                   "ranks disagree on the shape, dtype or order of '{}'", name);
    record.slices.push_back({tensor[4].get<std::string>(), tensor[5].get<std::string>(),
                             tensor[6].get<std::int64_t>(), tensor[7].get<std::int64_t>(),
                             tensor[8].get<std::uint64_t>()});
  }
}

Manifest make_manifest(const SaveRequest& request, const std::vector<std::string>& reports) {
  Manifest manifest{.step = request.step,
                    .environment = request.environment,
                    .monitored = request.monitored,
                    .inputs = request.inputs,
                    .class_names = request.class_names,
                    .surgery = request.surgery,
                    .standing_weights = request.standing_weights,
                    .files = {},
                    .tensors = {},
                    .state = request.state,
                    .config = request.config};
  std::map<std::string, std::size_t> index;
  for (const std::string& report : reports) merge(report, manifest, index);
  for (TensorRecord& tensor : manifest.tensors) {
    std::sort(tensor.slices.begin(), tensor.slices.end(),
              [](const SliceRecord& a, const SliceRecord& b) { return a.begin < b.begin; });
  }
  return manifest;
}

/// Throws unless rank 0 sees all files as their ranks wrote them.
void check_files(const Manifest& manifest, const fs::path& temporary) {
  for (const FileRecord& file : manifest.files) {
    std::error_code error;
    const auto size = fs::file_size(temporary / file.name, error);
    if (error || size != file.size) {
      throw CheckpointError(
          fmt::format("rank 0 does not see {} as its rank wrote it: checkpoints must lie on a file "
                      "system that all ranks share",
                      (temporary / file.name).string()));
    }
  }
}

}  // namespace

fs::path target_of(const SaveRequest& request) {
  return request.folder / checkpoint_name(request.step);
}

std::vector<int> ranks_that_write(std::span<const StateShard> shards,
                                  comm::Communicator& communicator) {
  const at::Tensor own = at::full({1}, std::ranges::any_of(shards, is_written) ? 1 : 0, at::kByte);
  const at::Tensor all = at::empty({communicator.world_size()}, at::kByte);
  communicator.all_gather(all, own, "who writes")->wait();
  const auto* const writes = all.const_data_ptr<std::uint8_t>();
  std::vector<int> ranks;
  for (int rank = 0; rank < communicator.world_size(); ++rank) {
    if (writes[rank] != 0) ranks.push_back(rank);
  }
  return ranks;
}

std::string write_rank_file(std::span<const StateShard> shards, const fs::path& directory, int rank,
                            base::FileSystem& files) {
  std::vector<StateShard> written(shards.begin(), shards.end());
  std::erase_if(written, [](const StateShard& shard) { return !shard.is_writer; });
  refuse_non_finite(written);
  return encode(write_shards(shards, directory, rank, files));
}

fs::path report_file(const SaveRequest& request, int rank) {
  return temporary_of(target_of(request)) / fmt::format("rank-{}.done", rank);
}

void leave_report(const SaveRequest& request, int rank, const std::string& report,
                  base::FileSystem& files) {
  const fs::path done = report_file(request, rank);
  const fs::path unfinished = base::unfinished_path(done);
  const auto file = files.create(unfinished);
  file->write(report);
  file->close();
  files.rename(unfinished, done);
}

void remove_reports(const SaveRequest& request, std::span<const int> ranks,
                    base::FileSystem& files) {
  for (const int rank : ranks) files.remove_all(report_file(request, rank));
}

void commit_checkpoint(const SaveRequest& request, const std::vector<std::string>& reports,
                       base::FileSystem& files) {
  const fs::path target = target_of(request);
  const fs::path temporary = temporary_of(target);
  const Manifest manifest = make_manifest(request, reports);
  check_files(manifest, temporary);
  const fs::path manifest_path = temporary / kManifestFile;
  const std::string text = encode(manifest);
  decode(text, manifest_path);  // whatever could not be loaded must not be saved
  const auto file = files.create(manifest_path);
  file->write(text);
  file->sync();
  file->close();
  if (request.before_publication) request.before_publication();
  publish_directory(files, temporary, target);
}

void fail_save(const SaveRequest& request, comm::Communicator& communicator,
               const base::Error& problem, base::FileSystem& files) {
  const std::string newest = comm::first_rank_decides(communicator, [&] {
    remove_quietly(files, temporary_of(target_of(request)));
    return describe_newest(request.folder);
  });
  std::string text = problem.what();
  if (!text.ends_with(newest)) text += ". " + newest;
  if (problem.exit_code() == base::ExitCode::kDiverged) throw base::DivergedError(text);
  throw CheckpointError(text);
}

std::string not_saved(const SaveRequest& request) {
  return fmt::format("the checkpoint at step {} was not saved", request.step);
}

}  // namespace paceline::checkpoint

#include "paceline/app/prediction/volume_folder.h"

#include "paceline/base/error.h"
#include "paceline/base/parallel_for.h"
#include "paceline/data/dataset/dataset_view.h"
#include "paceline/data/sources/ct/ct_constants.h"
#include "paceline/data/sources/ct/ct_dataset.h"
#include "paceline/train/tasks/volume/ct_diffusion.h"
#include "paceline/train/tasks/volume/volume_pictures.h"
#include "paceline/volume/nifti_writer.h"

#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace paceline::app {
namespace {

namespace fs = std::filesystem;

/// A file of a patient.
struct VolumeFile {
  std::string name;
  at::Tensor values;  ///< [side, side, side], contiguous: int16 or float32
};

at::Tensor rounded(const at::Tensor& hu) { return hu.round().to(at::kShort).contiguous(); }

std::vector<VolumeFile> files_of(const tensor::Fields& fields, std::int64_t row) {
  std::vector<VolumeFile> files;
  const at::Tensor samples = fields.at(train::kSamples)[row];
  for (std::int64_t i = 0; i < samples.size(0); ++i)
    files.push_back({fmt::format("sample_{}.nii.gz", i + 1), rounded(samples[i])});
  files.push_back({"mean.nii.gz", rounded(fields.at(train::kMean)[row])});
  files.push_back(
      {"deviation.nii.gz", fields.at(train::kDeviation)[row].to(at::kFloat).contiguous()});
  return files;
}

template <class Value>
std::span<const Value> values_of(const at::Tensor& tensor) {
  return {tensor.const_data_ptr<Value>(), static_cast<std::size_t>(tensor.numel())};
}

decltype(volume::NiftiVolume::values) either_values_of(const at::Tensor& tensor) {
  if (tensor.scalar_type() == at::kShort) return values_of<std::int16_t>(tensor);
  return values_of<float>(tensor);
}

std::string bytes_of_volume(const at::Tensor& values, const volume::Affine& affine) {
  const auto side = static_cast<int>(values.size(0));
  return volume::gzipped_nifti_bytes({.sizes = {side, side, side},
                                      .affine = affine,
                                      .values = either_values_of(values),
                                      .description = train::kSyntheticNotice});
}

/// A name may come from a file that anyone wrote.
void require_plain_name(const std::string& name) {
  if (!name.empty() && name != "." && name != ".." && name.find('/') == name.npos) return;
  throw base::DataError(
      fmt::format("a patient is called '{}', which is no name for a folder", name));
}

void write_file(base::FileSystem& files, const fs::path& path, const std::string& bytes) {
  const auto file = files.create(path);
  file->write(bytes);
  file->sync();
  file->close();
}

}  // namespace

volume::Affine place_of_volume(const data::Dataset& dataset, std::int64_t index,
                               std::int64_t side) {
  const data::Dataset* whole = &dataset;
  while (const auto* const view = dynamic_cast<const data::DatasetView*>(whole))
    std::tie(whole, index) = view->beneath(index);
  if (const auto* const scans = dynamic_cast<const data::CtDataset*>(whole);
      scans != nullptr && scans->side() == side)
    return scans->affine(index);
  const data::SampleConstants constants = dataset.constants();
  return volume::affine_of_cube(static_cast<int>(side), constants.find(data::kFovMm)->second.at(0));
}

nlohmann::json facts_of_volumes(const train::CtDiffusion& task, const data::Dataset& dataset) {
  const train::CtDiffusionConfig& config = task.config();
  const data::SampleConstants constants = dataset.constants();
  return {{"sampling",
           {{"samples", config.samples},
            {"steps", config.sampling_steps},
            {"spacing", std::string(config::enum_name(config.spacing))},
            {"noise", config.sampling_noise}}},
          {"hu_window", task.units().hu_window},
          {"fov_mm", constants.find(data::kFovMm)->second.at(0)},
          {"view_angles", constants.find(data::kViewAngles)->second},
          {"cone_beam", constants.find(data::kConeBeam)->second},
          {"full_scale", task.units().full_scale}};
}

VolumeFolder::VolumeFolder(base::FileSystem& files, const fs::path& folder,
                           const data::Dataset& dataset, int num_threads)
    : files_(files), folder_(files, folder), dataset_(dataset), num_threads_(num_threads) {}

void VolumeFolder::write_patient(const tensor::Fields& fields, std::int64_t row,
                                 std::int64_t index) {
  const std::string patient = dataset_.name(index);
  require_plain_name(patient);
  const std::vector<VolumeFile> volumes = files_of(fields, row);
  const volume::Affine affine = place_of_volume(dataset_, index, volumes.front().values.size(0));
  const fs::path folder = folder_.path() / patient;
  files_.create_directory(folder);
  base::parallel_for(std::ssize(volumes), num_threads_, [&](std::int64_t i) {
    const VolumeFile& file = volumes[static_cast<std::size_t>(i)];
    write_file(files_, folder / file.name, bytes_of_volume(file.values, affine));
  });
  files_.sync_directory(folder);
  patients_.push_back({{"patient", patient}, {"affine", affine}});
}

void VolumeFolder::add(const train::Predictions& predictions) {
  for (std::size_t row = 0; row < predictions.indices.size(); ++row) {
    const std::int64_t index = predictions.indices[row];
    if (!predictions.fields.at(train::kSamples)[static_cast<std::int64_t>(row)]
             .isfinite()
             .all()
             .item<bool>())
      throw base::DivergedError(fmt::format(
          "the volumes of patient {} have values that are no numbers: the weights have diverged; "
          "name an earlier checkpoint (RUN@step-N)",
          dataset_.name(index)));
    write_patient(predictions.fields, static_cast<std::int64_t>(row), index);
  }
}

void VolumeFolder::publish(nlohmann::json facts) {
  facts["notice"] = train::kSyntheticNotice;
  facts["unit"] = "HU";
  facts["patients"] = patients_;
  // A name may have bytes that are not UTF-8.
  write_file_atomically(files_, folder_.path() / "predictions.json",
                        facts.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
  folder_.publish();
}

}  // namespace paceline::app

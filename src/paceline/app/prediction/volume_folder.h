#pragma once

#include "paceline/app/prediction/pending_folder.h"
#include "paceline/app/prediction/prediction_sink.h"
#include "paceline/base/file.h"
#include "paceline/data/dataset/dataset.h"
#include "paceline/volume/affine.h"

#include <cstdint>
#include <filesystem>
#include <string>

#include <nlohmann/json.hpp>

namespace paceline::train {
class CtDiffusion;  // train/tasks/volume/ct_diffusion.h
}  // namespace paceline::train

namespace paceline::app {

/// Where a sample's volume of `side` voxels lies: as its scan did, or around the isocentre where
/// there are X-rays alone.
volume::Affine place_of_volume(const data::Dataset& dataset, std::int64_t index, std::int64_t side);

/// How volumes are drawn and of what kind of X-rays, for people and programs.
nlohmann::json facts_of_volumes(const train::CtDiffusion& task, const data::Dataset& dataset);

/// Writes the volumes that a train::CtDiffusion predicts into a folder for each patient, by
/// Dataset::name(): sample_1.nii.gz, ... and mean.nii.gz, int16 in Hounsfield units, and
/// deviation.nii.gz, their standard deviation in float32. Beside them predictions.json tells of the
/// whole. The folder gets its name when all of it is on disk.
class VolumeFolder final : public PredictionSink {
 public:
  /// `dataset` and `files` must outlive this; `num_threads` compress. Throws as PendingFolder().
  VolumeFolder(base::FileSystem& files, const std::filesystem::path& folder,
               const data::Dataset& dataset, int num_threads);

  /// The next patients. Throws DivergedError for volumes that are not finite.
  void add(const train::Predictions& predictions) override;
  void publish(nlohmann::json facts) override;

 private:
  void write_patient(const tensor::Fields& fields, std::int64_t row, std::int64_t index);

  base::FileSystem& files_;
  PendingFolder folder_;
  const data::Dataset& dataset_;
  int num_threads_;
  nlohmann::json patients_ = nlohmann::json::array();
};

}  // namespace paceline::app

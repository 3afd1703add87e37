#pragma once

#include "paceline/base/file.h"
#include "paceline/data/dataset/dataset.h"
#include "paceline/train/predictor.h"

#include <filesystem>
#include <string>
#include <vector>

namespace paceline::train {
class CtDiffusion;  // train/tasks/volume/ct_diffusion.h
}  // namespace paceline::train

namespace paceline::app {

/// Writes what a train::CtDiffusion shows of its predictions into a folder that may be there
/// already: of each patient PATIENT_slices.png and PATIENT_xrays.png, by Dataset::name().
class PictureFolder {
 public:
  /// `files`, `task` and `dataset` must outlive it; volumes are projected on the device `place`.
  /// Throws FileError where the folder cannot be made.
  PictureFolder(base::FileSystem& files, std::filesystem::path folder,
                const train::CtDiffusion& task, const data::Dataset& dataset, at::Device place);

  /// What predictions need besides what the task gives out, for Predictor::add_inputs().
  static std::vector<std::string> inputs();

  /// The next patients. Throws FileError.
  void add(const train::Predictions& predictions);

 private:
  base::FileSystem& files_;
  std::filesystem::path folder_;
  const train::CtDiffusion& task_;
  const data::Dataset& dataset_;
  at::Device place_;
};

}  // namespace paceline::app

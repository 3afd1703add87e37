#pragma once

#include "paceline/train/eval_measure.h"

#include <string>
#include <utility>
#include <vector>

namespace paceline::train {

/// How good the volumes of each patient of all ranks are, in the order of the data set, in host
/// memory.
struct PatientRecords {
  std::vector<std::string> names;  ///< of the qualities, as those of metrics: "psnr_mean"
  at::Tensor indices;              ///< int64 [n], of the data set
  at::Tensor values;               ///< float64 [n, names]
};

/// Keeps the PatientRecords of an evaluation of CtDiffusion.
class PatientRecorder final : public EvalMeasure {
 public:
  /// Field of what evaluate() gives out: float64 [size, names].
  static constexpr std::string_view kQualities = "qualities";

  explicit PatientRecorder(std::vector<std::string> names) : names_(std::move(names)) {}

  void add(const tensor::Fields& outputs, const Batch& batch) override;
  /// Measures nothing else.
  Measured finish(comm::Communicator& communicator) override;
  /// After finish().
  const PatientRecords& records() const { return records_; }

 private:
  std::vector<std::string> names_;
  std::vector<at::Tensor> rows_;  ///< float64 [patients, 1 + names], of each batch
  PatientRecords records_;
};

}  // namespace paceline::train

#pragma once

#include "paceline/nn/losses.h"
#include "paceline/train/eval_measure.h"

#include <cstdint>
#include <vector>

namespace paceline::train {

/// What an evaluation told of each sample of all ranks, in the order of the data set, in host
/// memory.
struct SampleRecords {
  at::Tensor indices;        ///< int64 [n], of the data set
  at::Tensor labels;         ///< int64 [n]
  at::Tensor losses;         ///< float64 [n]
  at::Tensor classes;        ///< int64 [n, k]: the most probable first; of equal ones the first
  at::Tensor probabilities;  ///< float64 [n, k], of these
};

/// Keeps a SampleRecords of a classification: 8 * (3 + 2 k) bytes a sample.
class SampleRecorder final : public EvalMeasure {
 public:
  /// `num_told` classes of each sample, or as many as there are. The loss must outlive it.
  SampleRecorder(const nn::Loss& loss, std::int64_t num_told) : loss_(loss), num_told_(num_told) {}

  void add(const tensor::Fields& outputs, const Batch& batch) override;
  /// Measures nothing else.
  Measured finish(comm::Communicator& communicator) override;
  /// After finish().
  const SampleRecords& records() const { return records_; }

 private:
  const nn::Loss& loss_;
  std::int64_t num_told_;
  std::vector<at::Tensor> rows_;  ///< float64 [samples, 3 + 2 k], of each batch
  SampleRecords records_;
};

}  // namespace paceline::train

#pragma once

#include "paceline/comm/communicator.h"
#include "paceline/metrics/ranking.h"
#include "paceline/tensor/aten.h"

#include <cstdint>
#include <vector>

namespace paceline::train {

/// Values of all ranks' samples in host memory: [n] of each rank (any n) become [sum of n], by
/// rank. Every rank must call it.
at::Tensor gather_values(comm::Communicator& communicator, const at::Tensor& values);

/// Keeps the probabilities of every sample of an evaluation, of each rank its own, and ranks the
/// samples of all ranks by them, class by class.
class GatheredScores {
 public:
  static constexpr std::uint64_t kMostBytes = std::uint64_t{4} << 30;

  /// `most_bytes`: what a rank keeps at most.
  explicit GatheredScores(std::uint64_t most_bytes = kMostBytes) : most_bytes_(most_bytes) {}

  /// probabilities: [n, C]; labels: int64 [n], below 0 of a sample that counts nothing, or bool
  /// [n, C] where a sample may be of any number of classes. The same kind in each call.
  void add(const at::Tensor& probabilities, const at::Tensor& labels);

  /// The means over the classes for which they are defined; NaN where there is none. Every rank
  /// must call it. Throws ConfigError on all ranks if one had to keep too much.
  metrics::RankingScores mean_over_classes(comm::Communicator& communicator);

 private:
  struct ClassRange {
    std::int64_t first = 0;
    std::int64_t count = 0;
  };

  void require_all(comm::Communicator& communicator) const;
  /// Of these classes a number of each of all ranks' samples: [ranks, classes, most_samples_],
  /// padded by -1.
  at::Tensor gather_classes(comm::Communicator& communicator, const std::vector<at::Tensor>& of,
                            ClassRange classes, at::ScalarType dtype) const;
  /// [ranks * most_samples_], padded by -1.
  at::Tensor gather_labels(comm::Communicator& communicator) const;

  std::uint64_t most_bytes_;
  std::uint64_t bytes_ = 0;
  std::int64_t num_classes_ = 0;
  std::int64_t num_samples_ = 0;
  std::int64_t most_samples_ = 0;          ///< of any rank
  bool are_sets_ = false;                  ///< whether labels are bool [n, C]
  std::vector<at::Tensor> probabilities_;  ///< in host memory, of samples that count
  std::vector<at::Tensor> labels_;
};

}  // namespace paceline::train

#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace paceline::parallel {

/// How the sum of one bucket of gradients went.
struct BucketReport {
  std::int64_t bytes = 0;  ///< of gradients; compression sends fewer
  std::string filled_by;   ///< the parameter whose gradient came last; empty: none came
  double start_s = 0;      ///< when the sum started, from the start of backward
  double exposed_s = 0;    ///< how long the step waited for it after backward
};

/// How the sums of one step went, of its last backward.
struct CommunicationReport {
  double backward_s = 0;  ///< from the start of backward until the step began to wait
  std::vector<BucketReport> buckets;
  /// Parameters whose gradients came later than the order of the buckets expects, so that buckets
  /// that were full had to wait for them.
  std::vector<std::string> late_parameters = {};
};

}  // namespace paceline::parallel

#pragma once

#include "paceline/comm/communicator.h"
#include "paceline/parallel/communication_report.h"
#include "paceline/parallel/replicated/gradient_compression.h"
#include "paceline/tensor/arena.h"
#include "paceline/tensor/aten.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace paceline::parallel {

/// Sums the buckets of a gradient arena over the ranks while backward still runs.
///
/// A bucket's all_reduce starts once its last gradient is there, but never before that of the
/// bucket in front of it, so that all ranks start them in the same order. The order of the sum is
/// thus fixed by the layout alone.
class BucketReducer {
 public:
  /// Without a communicator, or in a world of one, only the bookkeeping is done, unless there is a
  /// `compression`. All must outlive this.
  BucketReducer(const tensor::Arena& gradients, comm::Communicator* communicator,
                GradientCompression* compression = nullptr);

  /// Between two reductions: from now on only these slots get gradients. A bucket is waited for,
  /// and summed, from the first of them that lies in it to the last; one without any is not.
  void reduce_only(std::span<const char> is_trained);

  /// A new reduction: no gradient is ready.
  void begin();
  /// Backward begins: what the report's times count from. Not called: from the first gradient.
  void begin_backward();
  /// The slot's gradient is final on this rank. Throws InternalError if it was so already: backward
  /// ran twice in one reduction.
  void mark_ready(std::size_t slot);
  bool is_ready(std::size_t slot) const { return is_ready_[slot] != 0; }
  /// Starts the sums of buckets whose gradients all are ready, up to the first that is not full.
  void start_full();
  /// Backward is over: starts what is left, ready or not.
  void start_rest();
  /// Waits for the sums, after start_rest(). Throws CommError.
  void finish();

  /// Seconds that the last finish() waited.
  double exposed_s() const { return exposed_s_; }
  /// Of the last reduction that was finished.
  CommunicationReport report() const;
  /// Slots in the order in which they became ready since begin().
  std::span<const std::size_t> ready_order() const { return ready_order_; }

 private:
  using Time = std::chrono::steady_clock::time_point;

  const tensor::Arena& gradients_;
  comm::Communicator* communicator_;
  GradientCompression* compression_;
  std::vector<at::Tensor> buckets_;         // what is summed of each; undefined: nothing
  std::vector<char> is_trained_;            // of each slot
  std::vector<std::int64_t> bucket_sizes_;  // such slots of each bucket
  std::vector<std::int64_t> num_missing_;   // of each bucket
  std::vector<char> is_ready_;              // of each slot
  std::vector<std::size_t> ready_order_;
  std::vector<std::unique_ptr<comm::Work>> in_flight_;
  std::size_t next_bucket_ = 0;
  double exposed_s_ = 0;

  // For the report, of each bucket.
  static constexpr std::size_t kNoSlot = std::numeric_limits<std::size_t>::max();
  std::vector<std::size_t> filled_by_;
  std::vector<Time> start_times_;
  std::vector<double> exposed_of_;
  std::optional<Time> backward_start_;
  Time backward_end_;
};

/// The parameters that hold up communication: those that became ready after a bucket behind their
/// own was full. `ready_order` is what one backward showed; only slots of `is_trained` could become
/// ready. A user's bucket_order that puts them later mends it.
std::vector<std::string> late_parameters(const tensor::FlatLayout& layout,
                                         std::span<const std::size_t> ready_order,
                                         std::span<const char> is_trained);

}  // namespace paceline::parallel

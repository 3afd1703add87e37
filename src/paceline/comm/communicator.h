#pragma once

#include "paceline/tensor/fwd.h"

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace paceline::comm {

/// On bool tensors kSum and kMax mean "or", kMin means "and".
enum class ReduceOp { kSum, kMin, kMax };

/// A collective in flight. wait() must be called exactly once; it throws CommError.
/// On CPU it blocks until the data is there, on CUDA it orders the data before later work on the
/// current stream. Must not outlive its communicator.
class Work {
 public:
  virtual ~Work() = default;
  virtual void wait() = 0;
};

/// Collectives over a fixed group of ranks.
///
/// Every rank must call the same functions in the same order with tensors of equal shape and dtype.
/// Tensors must be contiguous, lie in host memory or on the GPU that the group was connected for,
/// and stay alive and untouched until wait(). Calls may come from any thread, for instance from
/// autograd's hooks, one at a time. `label` says what is moved ("bucket 3 (fc.weight)"); error
/// messages show it. Throws CommError, naming the rank that is missing, on time-out, when a peer is
/// lost or when the ranks' calls differ; the communicator is unusable after that.
class Communicator {
 public:
  virtual ~Communicator() = default;

  virtual int rank() const = 0;  ///< in [0, world_size())
  virtual int world_size() const = 0;
  virtual std::string backend() const = 0;  ///< as the banner shows it
  /// One line for the banner: backend, interface and store.
  virtual std::string describe() const = 0;

  /// In place: every rank ends with the reduction over all ranks, the same bits on each.
  virtual std::unique_ptr<Work> all_reduce(const at::Tensor& tensor, ReduceOp op,
                                           std::string_view label = {}) = 0;
  /// In place: every rank ends with source_rank's values.
  virtual std::unique_ptr<Work> broadcast(const at::Tensor& tensor, int source_rank,
                                          std::string_view label = {}) = 0;
  /// input: n elements; output: world_size * n elements, ordered by rank.
  virtual std::unique_ptr<Work> all_gather(const at::Tensor& output, const at::Tensor& input,
                                           std::string_view label = {}) = 0;
  /// input: world_size * n elements; output: n elements, the sum of this rank's slices, added in
  /// rank order (on several nodes: on each of them, and then over the nodes in theirs) in float32
  /// or the tensor's dtype if that is wider (on a GPU NCCL adds in its own order, in the tensor's
  /// dtype).
  virtual std::unique_ptr<Work> reduce_scatter(const at::Tensor& output, const at::Tensor& input,
                                               std::string_view label = {}) = 0;
  virtual void barrier() = 0;

  /// Every rank's text, ordered by rank: for agreement checks and reports, not for the step.
  virtual std::vector<std::string> all_gather_text(const std::string& text) = 0;

  /// The group of those ranks that pass the same color, numbered in the order of their ranks here.
  /// Every rank must call it. This group's shutdown() ends it, too; it must not be used after that.
  virtual std::unique_ptr<Communicator> split(int color) = 0;

  /// To be called after the host has waited for a GPU: throws CommError if collectives there were
  /// ended meanwhile, as a peer was lost, and what they computed is of no use.
  virtual void require_intact() {}

  /// From now on a collective that takes longer throws CommError.
  virtual void set_timeout(std::chrono::milliseconds timeout) = 0;

  /// Leaves the group in order. Called once, by every rank, before destruction in the good case; on
  /// the way out of an error it is not called.
  virtual void shutdown() = 0;
};

}  // namespace paceline::comm

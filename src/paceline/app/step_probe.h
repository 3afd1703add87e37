#pragma once

#include "paceline/app/batch_find/rank_search.h"
#include "paceline/app/session.h"

#include <cstdint>

namespace paceline::app {

/// Two real steps of a recipe with so many samples on this rank at once, and an evaluation of one
/// batch if the run evaluates, to learn what memory they take. The rank works alone, among peers
/// that are not there (comm/fake): it holds, gathers and sends as much as in a run, but waits for
/// nobody, so it may run out of memory. Each try is a Session of its own, of which nothing is left.
///
/// Two steps are too few to record one, so with train.compile: graph they take what they take
/// without. Images have their full size, as at the end of progressive resizing. Weights are drawn:
/// model.pretrained changes no size. Batches in host memory are not measured, since how many of
/// them the loader's threads have ready is a matter of time; as many as they may hold are added.
class StepProbe {
 public:
  /// `limit_bytes` of this rank's tensors: on the CPU the allocator refuses more, on a GPU more is
  /// measured. Throws ConfigError where parallel.fsdp.shard_group_size does not divide the ranks.
  StepProbe(const Recipe& recipe, const SessionContext& context, std::uint64_t limit_bytes);

  /// Throws what training throws, but for what says that memory ran out. Interrupted after a
  /// signal.
  ProbeOutcome run(std::int64_t samples);

  /// Of the last try that fits, in bytes: parameters, gradients, optimizer and algorithms, which
  /// are there whatever the batch is.
  std::uint64_t state_bytes() const { return state_bytes_; }
  /// What a sample more in a rank's batch takes beside the microbatch, in bytes.
  double input_bytes_per_sample() const { return input_bytes_per_sample_; }

 private:
  void take_steps(const Recipe& recipe, const SessionContext& alone);
  void learn(const Session& session, std::int64_t samples);

  Recipe recipe_;
  const SessionContext& context_;
  std::uint64_t limit_bytes_;
  int world_size_;            ///< among which a rank's state is cut
  std::uint64_t beside_ = 0;  ///< bytes of the try at hand that are in no tensor that is measured
  std::uint64_t state_bytes_ = 0;
  double input_bytes_per_sample_ = 0;
};

}  // namespace paceline::app

#pragma once

#include "paceline/comm/communicator.h"
#include "paceline/tensor/fwd.h"

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace paceline::comm {

enum class CollectiveKind : std::uint8_t {
  kAllReduce,
  kBroadcast,
  kAllGather,
  kReduceScatter,
  // These move no tensor.
  kBarrier,
  kGatherText,
  kSplit,
};

/// What all ranks must agree on for one collective to match. Cheap to copy and compare: it is made
/// for every collective of every step.
struct CollectiveSignature {
  CollectiveKind kind = CollectiveKind::kBarrier;
  int argument = 0;  ///< the ReduceOp of an all-reduce, the source rank of a broadcast
  std::int64_t numel = 0;
  std::array<std::int64_t, 4> sizes{};  ///< the first sizes of the shape
  std::uint8_t dims = 0;
  std::int8_t dtype = 0;  ///< a c10::ScalarType

  bool operator==(const CollectiveSignature&) const = default;
};

/// The signature of a collective on `tensor` (the input, where there is an output too).
CollectiveSignature signature_of(CollectiveKind kind, int argument, const at::Tensor& tensor);

/// "all_reduce sum [64, 3] Float", "broadcast from 2 [7] Long", "barrier".
std::string to_text(const CollectiveSignature& signature);

/// Equal on all ranks when, and in practice only when, the signatures are.
std::int64_t hash(const CollectiveSignature& signature);

/// Throws InternalError unless all tensors are contiguous and `larger` has `world_size` times the
/// elements of `smaller`, in its dtype.
void check_slices(const at::Tensor& larger, const at::Tensor& smaller, int world_size);

/// The sum of equal slices of `input`, added in rank order in float32 or the dtype if that is
/// wider. input: world_size * n elements; output: n elements.
void sum_slices(const at::Tensor& output, const at::Tensor& input, int world_size);

/// Communicator::all_gather_text by two all_gathers: all texts are padded to the longest.
std::vector<std::string> gather_texts(Communicator& communicator, const std::string& text);

/// Waits for all of them and forgets them; returns the seconds that took.
double wait_for_all(std::vector<std::unique_ptr<Work>>& works);

/// A collective that was over when it was issued.
class CompletedWork final : public Work {
 public:
  void wait() override {}
};

}  // namespace paceline::comm

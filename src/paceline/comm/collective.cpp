#include "paceline/comm/collective.h"

#include "paceline/base/error.h"
#include "paceline/tensor/aten.h"

#include <algorithm>
#include <chrono>
#include <string_view>
#include <utility>

#include <xxhash.h>

namespace paceline::comm {
namespace {

std::string operation_text(const CollectiveSignature& signature) {
  switch (signature.kind) {
    case CollectiveKind::kAllReduce: {
      constexpr std::array<std::string_view, 3> kOps{"sum", "min", "max"};
      return fmt::format("all_reduce {}", kOps.at(static_cast<std::size_t>(signature.argument)));
    }
    case CollectiveKind::kBroadcast:
      return fmt::format("broadcast from {}", signature.argument);
    case CollectiveKind::kAllGather:
      return "all_gather";
    case CollectiveKind::kReduceScatter:
      return "reduce_scatter";
    case CollectiveKind::kBarrier:
      return "barrier";
    case CollectiveKind::kGatherText:
      return "all_gather_text";
    case CollectiveKind::kSplit:
      return "split";
  }
  return "unknown";
}

}  // namespace

CollectiveSignature signature_of(CollectiveKind kind, int argument, const at::Tensor& tensor) {
  CollectiveSignature signature{.kind = kind, .argument = argument};
  signature.numel = tensor.numel();
  signature.dims = static_cast<std::uint8_t>(tensor.dim());
  signature.dtype = static_cast<std::int8_t>(tensor.scalar_type());
  const auto shown = std::min<std::size_t>(signature.dims, signature.sizes.size());
  std::copy_n(tensor.sizes().begin(), shown, signature.sizes.begin());
  return signature;
}

std::string to_text(const CollectiveSignature& signature) {
  const std::string operation = operation_text(signature);
  if (signature.kind >= CollectiveKind::kBarrier) return operation;
  const auto shown = std::min<std::size_t>(signature.dims, signature.sizes.size());
  const auto end = signature.sizes.begin() + static_cast<std::ptrdiff_t>(shown);
  return fmt::format("{} [{}{}] {}", operation, fmt::join(signature.sizes.begin(), end, ", "),
                     shown < signature.dims ? ", ..." : "",
                     c10::toString(static_cast<c10::ScalarType>(signature.dtype)));
}

std::int64_t hash(const CollectiveSignature& signature) {
  std::array<std::int64_t, 9> words{static_cast<std::int64_t>(signature.kind), signature.argument,
                                    signature.numel, signature.dims, signature.dtype};
  std::copy(signature.sizes.begin(), signature.sizes.end(), words.begin() + 5);
  return static_cast<std::int64_t>(XXH3_64bits(words.data(), sizeof words));
}

void check_slices(const at::Tensor& larger, const at::Tensor& smaller, int world_size) {
  PACELINE_CHECK(larger.is_contiguous() && smaller.is_contiguous(),
                 "collectives need contiguous tensors");
  PACELINE_CHECK(larger.numel() == smaller.numel() * world_size &&
                     larger.scalar_type() == smaller.scalar_type(),
                 "{} {} elements are not {} times {} {} elements", larger.numel(),
                 c10::toString(larger.scalar_type()), world_size, smaller.numel(),
                 c10::toString(smaller.scalar_type()));
}

void sum_slices(const at::Tensor& output, const at::Tensor& input, int world_size) {
  const at::NoGradGuard no_grad;
  const at::Tensor slices = input.view({world_size, output.numel()});
  const at::Tensor flat_output = output.view({output.numel()});
  const bool is_narrow = at::isReducedFloatingType(output.scalar_type());
  const at::Tensor sum = is_narrow ? slices[0].to(at::kFloat)
                                   : flat_output.copy_(slices[0]);  // copy_ returns its target
  for (int rank = 1; rank < world_size; ++rank) {
    sum.add_(slices[rank]);
  }
  if (is_narrow) {
    flat_output.copy_(sum);
  }
}

std::vector<std::string> gather_texts(Communicator& communicator, const std::string& text) {
  const int world_size = communicator.world_size();
  const at::Tensor length = at::full({1}, std::ssize(text), at::kLong);
  const at::Tensor lengths = at::empty({world_size}, at::kLong);
  communicator.all_gather(lengths, length, "lengths of texts")->wait();
  const std::int64_t longest = std::max<std::int64_t>(1, lengths.max().item<std::int64_t>());
  at::Tensor padded = at::zeros({longest}, at::kByte);
  text.copy(static_cast<char*>(padded.data_ptr()), text.size());
  const at::Tensor gathered = at::empty({world_size * longest}, at::kByte);
  communicator.all_gather(gathered, padded, "texts")->wait();
  const char* bytes = static_cast<const char*>(gathered.const_data_ptr());
  std::vector<std::string> texts;
  for (int rank = 0; rank < world_size; ++rank) {
    texts.emplace_back(bytes + rank * longest,
                       static_cast<std::size_t>(lengths[rank].item<std::int64_t>()));
  }
  return texts;
}

double wait_for_all(std::vector<std::unique_ptr<Work>>& works) {
  const auto before = std::chrono::steady_clock::now();
  for (const auto& work : std::exchange(works, {})) work->wait();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - before).count();
}

}  // namespace paceline::comm

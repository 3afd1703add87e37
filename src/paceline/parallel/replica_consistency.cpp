#include "paceline/parallel/replica_consistency.h"

#include "paceline/base/error.h"
#include "paceline/comm/agreement.h"

#include <cstdint>
#include <map>
#include <sstream>
#include <string>

#include <fmt/ranges.h>

namespace paceline::parallel {
namespace {

std::string to_text(std::span<const tensor::TensorSpec> specs) {
  std::string text;
  for (const tensor::TensorSpec& spec : specs) {
    text += fmt::format("'{}' {} [{}] strides [{}] group {}\n", spec.name, spec.dtype,
                        fmt::join(spec.sizes, ", "), fmt::join(spec.strides, ", "), spec.group);
  }
  return text;
}

/// Of the first line in which the texts differ.
std::string first_difference(const std::string& expected, const std::string& actual) {
  std::istringstream expected_lines(expected);
  std::istringstream actual_lines(actual);
  std::string expected_line;
  std::string actual_line;
  do {
    if (!std::getline(expected_lines, expected_line)) expected_line = "no further parameter";
    if (!std::getline(actual_lines, actual_line)) actual_line = "no further parameter";
  } while (expected_line == actual_line);
  return fmt::format("{} on rank 0, {}", expected_line, actual_line);
}

}  // namespace

void check_ranks_agree(std::span<const tensor::TensorSpec> specs,
                       comm::Communicator& communicator) {
  const std::string own = to_text(specs);
  if (comm::is_same_on_all_ranks(communicator, own)) return;
  const std::vector<std::string> texts = communicator.all_gather_text(own);
  for (std::size_t rank = 1; rank < texts.size(); ++rank) {
    if (texts[rank] != texts[0]) {
      throw base::ConfigError(fmt::format(
          "the ranks train different models: {} on rank {}; start all ranks with the same recipe",
          first_difference(texts[0], texts[rank]), rank));
    }
  }
}

void broadcast_from_first_rank(std::span<const NamedTensor> tensors,
                               comm::Communicator& communicator) {
  const at::NoGradGuard no_grad;
  std::map<at::ScalarType, std::vector<at::Tensor>> by_dtype;
  for (const NamedTensor& named : tensors) {
    by_dtype[named.tensor.scalar_type()].push_back(named.tensor);
  }
  for (const auto& [dtype, members] : by_dtype) {
    std::int64_t numel = 0;
    for (const at::Tensor& member : members) numel += member.numel();
    const at::Tensor flat = at::empty({numel}, members.front().options().requires_grad(false));
    std::vector<at::Tensor> parts;
    std::int64_t offset = 0;
    for (const at::Tensor& member : members) {
      parts.push_back(flat.narrow(0, offset, member.numel()).view(member.sizes()));
      offset += member.numel();
      if (communicator.rank() == 0) parts.back().copy_(member);
    }
    communicator.broadcast(flat, /*source_rank=*/0)->wait();
    if (communicator.rank() == 0) continue;
    for (std::size_t i = 0; i < members.size(); ++i) members[i].copy_(parts[i]);
  }
}

}  // namespace paceline::parallel

#include "paceline/parallel/replicated/used_parameters.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace paceline::parallel {

UsedParameters::UsedParameters(const DdpConfig& config, std::string_view section,
                               std::size_t num_slots, at::Device device,
                               comm::Communicator* communicator)
    : rule_(config.static_graph              ? Rule::kAsFirst
            : config.allow_unused_parameters ? Rule::kAny
                                             : Rule::kAll),
      section_(section),
      device_(device),
      communicator_(communicator),
      is_known_unused_(num_slots, 0) {}

void UsedParameters::start_exchange(std::span<const std::size_t> untouched, bool had_backward) {
  if (!allows_missing()) return;
  untouched_.assign(untouched.begin(), untouched.end());
  const auto idle = static_cast<std::int64_t>(is_known_unused_.size());
  had_backward_ = had_backward;
  // Made there: a copy from the host would wait.
  is_used_ = at::full({idle + 1}, had_backward, at::TensorOptions(device_).dtype(at::kBool));
  if (had_backward) {
    for (const std::size_t slot : untouched) is_used_[static_cast<std::int64_t>(slot)].fill_(false);
  }
  is_used_[idle].fill_(!had_backward);
  if (communicator_ != nullptr) {
    exchange_ = communicator_->all_reduce(is_used_, comm::ReduceOp::kMax);
  }
}

void UsedParameters::finish_exchange() {
  if (!allows_missing()) return;
  if (exchange_) std::exchange(exchange_, nullptr)->wait();
  // A rank without samples would have to keep a copy of everything: it waits for the device rather.
  is_exact_ = is_used_.is_cpu() || !had_backward_ || rule_ == Rule::kAsFirst;
  maybe_unused_ = is_exact_ ? read_unused() : untouched_;
  if (rule_ == Rule::kAny) return;
  const auto idle = static_cast<std::int64_t>(is_known_unused_.size());
  if (!is_used_[idle].item<bool>()) {
    is_known_ = true;
    known_unused_ = untouched_;
    for (const std::size_t slot : known_unused_) is_known_unused_[slot] = 1;
  }
}

at::Tensor UsedParameters::is_used(std::size_t slot) const {
  return is_used_[static_cast<std::int64_t>(slot)];
}

std::vector<std::size_t> UsedParameters::unused() const {
  return is_exact_ ? maybe_unused_ : read_unused();
}

std::vector<std::size_t> UsedParameters::read_unused() const {
  const at::Tensor of_all = is_used_.to(at::kCPU);
  const bool* const is_used = of_all.const_data_ptr<bool>();
  std::vector<std::size_t> unused;
  std::ranges::copy_if(untouched_, std::back_inserter(unused),
                       [is_used](std::size_t slot) { return !is_used[slot]; });
  return unused;
}

}  // namespace paceline::parallel

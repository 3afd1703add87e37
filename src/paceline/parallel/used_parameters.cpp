#include "paceline/parallel/used_parameters.h"

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
      is_settled_(num_slots, 0) {}

void UsedParameters::start_exchange(std::span<const std::size_t> untouched, bool had_backward) {
  if (!allows_missing()) return;
  untouched_.assign(untouched.begin(), untouched.end());
  const at::Tensor own = at::ones({static_cast<std::int64_t>(is_settled_.size()) + 1}, at::kBool);
  bool* const is_used = own.mutable_data_ptr<bool>();
  for (const std::size_t slot : untouched) is_used[slot] = false;
  is_used[is_settled_.size()] = !had_backward;
  is_used_ = own.to(device_);
  if (communicator_ != nullptr) {
    exchange_ = communicator_->all_reduce(is_used_, comm::ReduceOp::kMax);
  }
}

const std::vector<std::size_t>& UsedParameters::finish_exchange() {
  if (!allows_missing()) return unused_;
  if (exchange_) std::exchange(exchange_, nullptr)->wait();
  unused_.clear();
  const at::Tensor of_all = is_used_.to(at::kCPU);
  const bool* const is_used = of_all.const_data_ptr<bool>();
  for (std::size_t slot = 0; slot < is_settled_.size(); ++slot) {
    if (!is_used[slot]) unused_.push_back(slot);
  }
  const bool any_idle = is_used[is_settled_.size()];
  if (rule_ == Rule::kAsFirst && !any_idle) {
    is_known_ = true;
    settled_ = untouched_;
    for (const std::size_t slot : settled_) is_settled_[slot] = 1;
  }
  return unused_;
}

}  // namespace paceline::parallel

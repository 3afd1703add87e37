#include "paceline/optim/host_pass.h"

#include "paceline/base/error.h"
#include "paceline/optim/slot_lists.h"

#include <algorithm>

namespace paceline::optim {

HostPass::HostPass(const std::vector<ParamGroup>& groups) {
  for (const ParamGroup& group : groups) {
    for (const ParamSlot& slot : group.slots) {
      const auto dtype = slot.param.scalar_type();
      is_able_ = is_able_ && slot.param.is_cpu() && (dtype == at::kFloat || dtype == at::kDouble);
    }
    num_slots_ += group.slots.size();
  }
}

bool HostPass::scale(double factor) {
  if (is_able_) factor_ = factor;
  return is_able_;
}

bool HostPass::average(std::span<const at::Tensor> averages, double share) {
  PACELINE_CHECK(averages.size() == num_slots_, "{} averages for {} slots", averages.size(),
                 num_slots_);
  if (!is_able_ || !averages_.empty()) return false;
  averages_.assign(averages.begin(), averages.end());
  share_ = share;
  return true;
}

tensor::UpdateExtras HostPass::extras(std::size_t slot) const {
  return {.input_factor = factor_,
          .average = averages_.empty() ? nullptr : &averages_.at(slot),
          .share = share_};
}

void HostPass::end() {
  factor_ = 1;
  averages_.clear();
}

void FusedUpdate::run(const at::Tensor& grad, std::span<const at::Tensor> values,
                      std::span<const double> scalars, const at::Tensor& skip,
                      const tensor::UpdateExtras& extras) const {
  constexpr std::int64_t kVectorBytes = 32;
  const std::int64_t size = grad.numel();
  const std::int64_t whole = size - size % (kVectorBytes / grad.element_size());
  const auto run_part = [&](const tensor::ElementUpdate& update, std::int64_t begin,
                            std::int64_t end) {
    if (begin == end) return;
    const auto part = [&](const at::Tensor& all) {
      return flat_view(all.detach()).narrow(0, begin, end - begin);
    };
    std::vector<at::Tensor> parts;
    std::ranges::transform(values, std::back_inserter(parts), part);
    tensor::UpdateExtras extras_of_part = extras;
    const at::Tensor average = extras.average == nullptr ? at::Tensor() : part(*extras.average);
    if (extras.average != nullptr) extras_of_part.average = &average;
    tensor::update_elements(update, part(grad), parts, scalars, skip, extras_of_part);
  };
  run_part(of_vectors, 0, whole);
  run_part(of_rest, whole, size);
}

}  // namespace paceline::optim

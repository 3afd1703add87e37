#include "paceline/tensor/autocast.h"

#include "paceline/tensor/aten.h"

#include <ATen/autocast_mode.h>

namespace paceline::tensor {

AutocastGuard::AutocastGuard(at::DeviceType device, std::optional<at::ScalarType> dtype) {
  if (!dtype) return;
  before_ = Before{device, at::autocast::is_autocast_enabled(device),
                   at::autocast::get_autocast_dtype(device)};
  at::autocast::set_autocast_enabled(device, true);
  at::autocast::set_autocast_dtype(device, *dtype);
  at::autocast::increment_nesting();
}

AutocastGuard::~AutocastGuard() {
  if (!before_) return;
  if (at::autocast::decrement_nesting() == 0) at::autocast::clear_cache();
  at::autocast::set_autocast_dtype(before_->device, before_->dtype);
  at::autocast::set_autocast_enabled(before_->device, before_->is_enabled);
}

}  // namespace paceline::tensor

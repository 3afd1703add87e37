#include "paceline/tensor/autocast.h"

#include "paceline/tensor/aten.h"

#include <ATen/autocast_mode.h>

namespace paceline::tensor {
namespace {

void apply(const AutocastSettings& settings) {
  at::autocast::set_autocast_enabled(settings.device, settings.is_enabled);
  at::autocast::set_autocast_dtype(settings.device, settings.dtype);
}

}  // namespace

AutocastSettings AutocastSettings::current(at::DeviceType device) {
  return {device, at::autocast::is_autocast_enabled(device),
          at::autocast::get_autocast_dtype(device)};
}

at::ScalarType AutocastSettings::cast_of(at::ScalarType given) const {
  const bool is_eligible = c10::isFloatingType(given) && given != at::kDouble;
  return is_enabled && is_eligible ? dtype : given;
}

AutocastGuard::AutocastGuard(at::DeviceType device, std::optional<at::ScalarType> dtype) {
  if (dtype) enter({device, true, *dtype});
}

AutocastGuard::AutocastGuard(const AutocastSettings& settings) { enter(settings); }

void AutocastGuard::enter(const AutocastSettings& settings) {
  before_ = AutocastSettings::current(settings.device);
  apply(settings);
  at::autocast::increment_nesting();
}

AutocastGuard::~AutocastGuard() {
  if (!before_) return;
  if (at::autocast::decrement_nesting() == 0) at::autocast::clear_cache();
  apply(*before_);
}

WithoutAutocastCache::WithoutAutocastCache()
    : was_enabled_(at::autocast::is_autocast_cache_enabled()) {
  at::autocast::set_autocast_cache_enabled(false);
}

WithoutAutocastCache::~WithoutAutocastCache() {
  at::autocast::set_autocast_cache_enabled(was_enabled_);
}

}  // namespace paceline::tensor

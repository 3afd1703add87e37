#pragma once

#include "paceline/config/duration.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

namespace paceline::optim {

using RunLength = config::StepLengths;

/// Learning rate and momentum as a pure function of the optimizer step: nothing to save, nothing to
/// resume.
class Schedule {
 public:
  virtual ~Schedule() = default;
  virtual std::string_view name() const = 0;
  /// The factor on the optimizer's base learning rate at `step`, counted from 0.
  virtual double factor(std::int64_t step) const = 0;
  /// The optimizer's momentum (Adam's and its kin's beta1) at `step`; nothing: its own.
  virtual std::optional<double> momentum(std::int64_t /*step*/) const { return {}; }
};

}  // namespace paceline::optim

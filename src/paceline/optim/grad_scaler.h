#pragma once

#include "paceline/config/schema.h"
#include "paceline/tensor/fwd.h"

#include <cstdint>
#include <span>
#include <string_view>
#include <tuple>

#include <nlohmann/json_fwd.hpp>

namespace paceline::optim {

struct GradScalerConfig {
  double init_scale = 65536;
  double growth_factor = 2;
  double backoff_factor = 0.5;
  std::int64_t growth_interval = 2000;

  bool operator==(const GradScalerConfig&) const = default;
};

/// The factor that keeps float16 gradients in range, with the numbers of torch.amp.GradScaler: it
/// grows after growth_interval steps in a row without overflow and backs off after each overflow.
///
///   (loss * scaler.scale()).backward();
///   const at::Tensor overflows = unscale(gradients, scaler.inverse_scale());  // then clip
///   optimizer->step(lr, /*skip=*/overflows);
///   const bool was_skipped = overflows.item<float>() != 0;
///   if (was_skipped) optimizer->set_num_steps(optimizer->num_steps() - 1);
///   scaler.update(was_skipped);
///
/// On several ranks all must agree on `overflows`; gradients that were summed over the ranks do.
/// Paper: Micikevicius et al., "Mixed precision training", ICLR 2018.
class GradScaler {
 public:
  explicit GradScaler(const GradScalerConfig& config);

  double scale() const { return static_cast<double>(scale_); }
  /// Rounded to float32.
  double inverse_scale() const;
  void update(bool found_inf);
  /// How often update() was told of an overflow, so many steps were skipped.
  std::int64_t num_skipped() const { return num_skipped_; }

  nlohmann::json state_dict() const;
  /// Throws nlohmann::json::exception for a part that is missing.
  void load_state_dict(const nlohmann::json& saved);

 private:
  GradScalerConfig config_;
  float scale_;                      // float32, as torch's: growth ends where it would be infinite
  std::int64_t growth_tracker_ = 0;  // steps in a row without overflow
  std::int64_t num_skipped_ = 0;
};

/// Multiplies gradients (float32, or any other type of torch's scaler) by `factor` in place, in one
/// pass. Returns a float32 scalar beside them: 1 if any element was infinite or NaN, whose values
/// are of no use then, else 0. There must be a gradient.
at::Tensor unscale(std::span<const at::Tensor> gradients, double factor);

}  // namespace paceline::optim

template <>
struct paceline::config::Schema<paceline::optim::GradScalerConfig> {
  using Config = paceline::optim::GradScalerConfig;
  static constexpr std::string_view name = "grad_scaler";
  static constexpr std::string_view summary =
      "The factor on the loss that keeps fp16 gradients in range.";
  static constexpr auto fields =
      std::tuple{field(&Config::init_scale, "init_scale", "The factor at first.", MoreThan{0},
                       AtMost{1e30, "float32 ends at 3e38"}),
                 field(&Config::growth_factor, "growth_factor",
                       "What it is multiplied by after growth_interval steps without overflow.",
                       MoreThan{1}, AtMost{1e06, "float32 ends at 3e38"}),
                 field(&Config::backoff_factor, "backoff_factor",
                       "What it is multiplied by after a step that overflowed and was skipped.",
                       MoreThan{0}, LessThan{1}),
                 field(&Config::growth_interval, "growth_interval",
                       "Steps in a row without overflow before it grows.", AtLeast{1},
                       AtMost{1'000'000'000'000, "no run has more steps"})};
};

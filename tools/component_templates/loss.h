#pragma once

#include "paceline/config/schema.h"
#include "paceline/nn/losses.h"

#include <memory>
#include <string_view>
#include <tuple>

namespace paceline::nn {

struct NewPartConfig {
  double factor = 1.0;
};

/// Cross entropy times a factor: say here what is compared, and name the paper.
class NewPart final : public Loss {
 public:
  explicit NewPart(const NewPartConfig& config) : config_(config) {}
  at::Tensor per_sample(const at::Tensor& outputs, const at::Tensor& targets) const override;

 private:
  NewPartConfig config_;
};

std::unique_ptr<Loss> make(const NewPartConfig& config);

}  // namespace paceline::nn

template <>
struct paceline::config::Schema<paceline::nn::NewPartConfig> {
  using Config = nn::NewPartConfig;
  static constexpr std::string_view name = "new_part";
  static constexpr std::string_view summary = "Says in one sentence what it compares.";
  static constexpr auto fields =
      std::tuple{field(&Config::factor, "factor", "Factor on the cross entropy.", AtLeast{0},
                       AtMost{1000, "no weights survive a step"})};
};

#include "paceline/nn/volume/cascade_network.h"

#include "paceline/base/error.h"
#include "paceline/nn/pass_memory/shaped_pass.h"
#include "paceline/nn/unit.h"

#include <charconv>

namespace paceline::nn {

std::vector<std::int64_t> CascadeNetwork::xray_sizes() const {
  throw base::InternalError("this cascade does not tell the sizes of its X-rays");
}

Shaped CascadeNetwork::shaped_forward(ShapedPass& /*pass*/) const {
  throw base::InternalError("this cascade does not tell what it keeps");
}

void CascadeNetwork::set_current_stage(std::int64_t number) {
  PACELINE_CHECK(number >= 0 && number < num_stages(), "a cascade of {} stages has no stage {}",
                 num_stages(), number);
  current_stage_ = number;
  const std::string own = stage_name(number) + ".";
  for (const NamedUnit& named : units(*this)) named.unit->set_idle(!named.name.starts_with(own));
}

at::Tensor CascadeNetwork::forward(const tensor::Fields& inputs,
                                   const ForwardContext& /*context*/) {
  NoisyVolumes volumes{.noisy = inputs.at(kNoisy), .steps = inputs.at(kSteps)};
  if (stage(current_stage_).previous_side > 0) {
    volumes.previous = inputs.at(kPrevious);
    volumes.levels = inputs.at(kLevels);
  }
  return denoise(current_stage_, volumes, encode(current_stage_, inputs.at(kXrays)));
}

std::optional<std::string> CascadeNetwork::starts_from(const std::string& parameter) {
  constexpr std::string_view kStages = "stages.";
  if (!parameter.starts_with(kStages)) return std::nullopt;
  std::int64_t number = 0;
  const char* const end = parameter.data() + parameter.size();
  const char* const rest = std::from_chars(parameter.data() + kStages.size(), end, number).ptr;
  if (number < 1 || !std::string_view(rest, end).starts_with(".encoder.")) return std::nullopt;
  return stage_name(number - 1) + std::string(rest, end);
}

std::optional<std::string> CascadeNetwork::grown_from(const std::string& parameter) const {
  const std::int64_t last = num_stages() - 1;
  if (last == 0 || !parameter.starts_with(stage_name(last) + ".")) return std::nullopt;
  return starts_from(parameter).value_or("");
}

std::vector<std::string> CascadeNetwork::parts_trained_before() const {
  std::vector<std::string> names;
  for (std::int64_t i = 0; i + 1 < num_stages(); ++i) names.push_back(stage_name(i));
  return names;
}

}  // namespace paceline::nn

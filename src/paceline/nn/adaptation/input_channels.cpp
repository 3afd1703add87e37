#include "paceline/nn/adaptation/input_channels.h"

#include "paceline/nn/module_tree.h"
#include "paceline/tensor/torch.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace paceline::nn {
namespace {

constexpr std::int64_t kColours = 3;

bool is_of_stem(const Network& network, const std::string& name) {
  return std::ranges::any_of(network.stem_names(), [&](const std::string& part) {
    return name.starts_with(part) && name.substr(part.size()).starts_with(".");
  });
}

/// Of the network's parameter; empty if there is none.
std::vector<std::int64_t> wanted_shape(const Network& network, const std::string& name) {
  for (const NamedTensor& parameter : named_parameters(network)) {
    if (parameter.name == name) return parameter.tensor.sizes().vec();
  }
  return {};
}

tensor::Adaptation sum_groups(std::int64_t channels, std::int64_t groups) {
  const std::int64_t each = channels / groups;
  return {[=](const at::Tensor& stored) {
            const auto sizes = stored.sizes();
            return stored.to(at::kFloat)
                .reshape({sizes[0], groups, each, sizes[2], sizes[3]})
                .sum(2)
                .to(stored.scalar_type());
          },
          groups == 1 ? fmt::format("summed over its {} input channels", channels)
                      : fmt::format("summed over each {} of its {} input channels, as those of a "
                                    "stem that takes patches apart",
                                    each, channels)};
}

tensor::Adaptation repeat_colours(std::int64_t channels) {
  return {[=](const at::Tensor& stored) {
            const std::int64_t repeats = (channels + kColours - 1) / kColours;
            const at::Tensor repeated =
                stored.to(at::kFloat).repeat({1, repeats, 1, 1}).narrow(1, 0, channels);
            return (repeated * (static_cast<double>(kColours) / static_cast<double>(channels)))
                .to(stored.scalar_type());
          },
          fmt::format("its {} input channels repeated to {}, times {}/{}", kColours, channels,
                      kColours, channels)};
}

}  // namespace

std::optional<tensor::Adaptation> adapt_input_channels(const Network& network,
                                                       const std::string& name,
                                                       std::span<const std::int64_t> stored) {
  if (stored.size() != 4 || !is_of_stem(network, name)) return std::nullopt;
  const std::vector<std::int64_t> wanted = wanted_shape(network, name);
  const bool is_other_in_channels_only = wanted.size() == 4 && wanted[0] == stored[0] &&
                                         wanted[1] != stored[1] && wanted[2] == stored[2] &&
                                         wanted[3] == stored[3];
  if (!is_other_in_channels_only) return std::nullopt;
  if (wanted[1] == 1) return sum_groups(stored[1], 1);
  if (stored[1] == kColours) return repeat_colours(wanted[1]);
  if (stored[1] == kColours * wanted[1]) return sum_groups(stored[1], wanted[1]);
  return std::nullopt;
}

}  // namespace paceline::nn

#include "paceline/nn/network_parts.h"

#include "paceline/base/error.h"
#include "paceline/base/text.h"
#include "paceline/nn/batch_norm.h"
#include "paceline/nn/factors/factors.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include <fnmatch.h>

namespace paceline::nn {
namespace {

bool is_like(const std::string& pattern, const std::string& name) {
  return ::fnmatch(pattern.c_str(), name.c_str(), 0) == 0;
}

constexpr std::string_view kUpTo = "..";

/// The parameters from the first to the last that is meant.
std::vector<std::string> names_up_to(const Network& network, const std::string& pattern) {
  const NetworkPart last(network, pattern);
  std::vector<std::string> names;
  std::size_t count = 0;
  for (const NamedTensor& named : named_parameters(network)) {
    names.push_back(named.name);
    if (last.holds(named.name)) count = names.size();
  }
  names.resize(count);
  return names;
}

std::vector<std::string> meant_by(const Network& network, const std::string& pattern) {
  if (pattern.starts_with(kUpTo)) return names_up_to(network, pattern.substr(kUpTo.size()));
  if (pattern == "head") return network.head_names();
  if (pattern == "stem") return network.stem_names();
  return {pattern};
}

/// The modules and parameters of the network itself, in its order.
std::vector<std::string> names_at_top(const std::vector<NamedTensor>& parameters) {
  std::vector<std::string> names{"stem", "head"};
  for (const NamedTensor& named : parameters) {
    const std::string top = named.name.substr(0, named.name.find('.'));
    if (std::ranges::find(names, top) == names.end()) names.push_back(top);
  }
  return names;
}

}  // namespace

NetworkPart::NetworkPart(const Network& network, std::string pattern)
    : pattern_(std::move(pattern)), patterns_(meant_by(network, pattern_)) {
  const std::vector<NamedTensor> parameters = named_parameters(network);
  if (std::ranges::any_of(parameters, [&](const auto& named) { return holds(named.name); })) return;
  const std::vector<std::string> names = names_at_top(parameters);
  const std::string nearest = base::nearest_name(pattern_, names);
  throw base::ConfigError(fmt::format(
      "no parameter of the network is named so or lies below '{}'{}; its parts are {}",
      base::excerpt(pattern_), nearest.empty() ? "" : fmt::format("; did you mean {}?", nearest),
      base::join_first(names, 20)));
}

bool NetworkPart::holds(const std::string& parameter) const {
  return std::ranges::any_of(patterns_, [&](const std::string& pattern) {
    for (std::size_t end = parameter.find('.'); end != std::string::npos;
         end = parameter.find('.', end + 1)) {
      if (is_like(pattern, parameter.substr(0, end))) return true;
    }
    return is_like(pattern, parameter);
  });
}

at::Tensor head_weight(const Network& network) {
  const std::vector<std::string> heads = network.head_names();
  if (heads.empty()) return {};
  at::Tensor last;
  for (const NamedTensor& named : named_parameters(network)) {
    const bool is_weight =
        named.name.starts_with(heads.front() + ".") && named.name.ends_with(".weight");
    if (is_weight && !is_of_first_factor(named.name)) last = named.tensor;
  }
  return last;
}

std::optional<std::int64_t> num_outputs(const Network& network) {
  const at::Tensor weight = head_weight(network);
  return weight.defined() ? std::optional(weight.size(0)) : std::nullopt;
}

void freeze(Network& network, std::span<const NetworkPart> parts) {
  bool is_any_trained = false;
  for (const NamedTensor& named : named_parameters(network)) {
    const bool is_frozen =
        std::ranges::any_of(parts, [&](const NetworkPart& part) { return part.holds(named.name); });
    if (is_frozen) named.tensor.set_requires_grad(false);
    is_any_trained = is_any_trained || named.tensor.requires_grad();
  }
  if (!is_any_trained) throw base::ConfigError("nothing of the network is left to train");
  network.apply([](torch::nn::Module& module) {
    auto* const norm = module.as<BatchNorm2d>();
    if (norm != nullptr && !norm->weight.requires_grad() && !norm->bias.requires_grad())
      norm->set_frozen(true);
  });
}

}  // namespace paceline::nn

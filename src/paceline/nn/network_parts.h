#pragma once

#include "paceline/nn/network.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace paceline::nn {

/// The parameters of a network that a user means by one word: those whose name, or the name of a
/// module above them, it is, with *, ? and [...] as in a shell ("layer[12]", "blocks.0.*",
/// "*.bias"); "head" and "stem" are those of every network. "..layer2" is that and all before it,
/// in the order of the parameters.
class NetworkPart {
 public:
  /// Throws ConfigError, which names what there is, if no parameter is meant.
  NetworkPart(const Network& network, std::string pattern);

  bool holds(const std::string& parameter) const;
  const std::string& pattern() const { return pattern_; }

 private:
  std::string pattern_;
  std::vector<std::string> patterns_;  ///< what it stands for
};

/// The weight [outputs, ...] of the last layer of the first that Network::head_names() names;
/// undefined if there is none.
at::Tensor head_weight(const Network& network);

/// The outputs for each sample of that layer, which for a classifier are its classes; nothing if
/// there is none.
std::optional<std::int64_t> num_outputs(const Network& network);

/// Leaves these parts out of training: their parameters get no gradients, and BatchNorms in them
/// normalise by their running statistics and leave them as they are, as timm's freeze() does.
/// Throws ConfigError if nothing is left to train.
void freeze(Network& network, std::span<const NetworkPart> parts);

}  // namespace paceline::nn

#pragma once

#include "paceline/nn/network.h"
#include "paceline/tensor/adaptation.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace paceline::nn {

/// How a convolution's weight that a file holds for other input channels is made to fit, by timm's
/// rule (adapt_input_conv): for one channel the sum over the stored ones, or over each three of
/// them where the stored stem had taken patches apart; for other numbers of channels the three
/// stored ones repeated, times 3 / channels. Nothing unless `name` is a 4-D weight of the network's
/// stem_names() and differs so.
std::optional<tensor::Adaptation> adapt_input_channels(const Network& network,
                                                       const std::string& name,
                                                       std::span<const std::int64_t> stored);

}  // namespace paceline::nn

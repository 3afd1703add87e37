#pragma once

#include "paceline/nn/network.h"
#include "paceline/tensor/adaptation.h"

namespace paceline::nn {

/// How stored values are made to fit this network: as it says itself, else by
/// adapt_input_channels(). The network must outlive the function.
tensor::FindAdaptation find_adaptation(const Network& network);

}  // namespace paceline::nn

#include "paceline/nn/adaptation/find_adaptation.h"

#include "paceline/nn/adaptation/input_channels.h"

namespace paceline::nn {

tensor::FindAdaptation find_adaptation(const Network& network) {
  return [&network](const std::string& name, std::span<const std::int64_t> stored) {
    auto own = network.adapt_stored(name, stored);
    return own ? own : adapt_input_channels(network, name, stored);
  };
}

}  // namespace paceline::nn

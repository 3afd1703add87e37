#pragma once

#include "paceline/nn/network.h"
#include "paceline/tensor/torch.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace paceline::test {

/// Weights of a stem and of a body behind it, each [outputs, channels, side, side]; computes
/// nothing.
struct StemNet : nn::Network {
  StemNet(std::int64_t outputs, std::int64_t channels, std::int64_t side) {
    for (const char* name : {"stem", "body"}) {
      const auto part = register_module(name, std::make_shared<torch::nn::Module>());
      part->register_parameter("weight", at::zeros({outputs, channels, side, side}));
      part->register_parameter("bias", at::zeros({outputs}));
    }
  }
  at::Tensor forward(const tensor::Fields&, const nn::ForwardContext&) override { return {}; }
  void initialize_parameter(const nn::NamedTensor&, const tensor::DrawKey&) const override {}
  double flops_per_sample(const nn::SampleSizes&) const override { return 0; }
  std::vector<std::string> stem_names() const override { return {"stem"}; }
};

}  // namespace paceline::test

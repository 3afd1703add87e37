#include "paceline/models/ct_cascade/volume_denoiser.h"

#include "paceline/base/error.h"
#include "paceline/models/ct_cascade/patches.h"
#include "paceline/tensor/autocast.h"
#include "unit/models/ct_cascade/block_inputs.h"

#include <vector>

#include <gtest/gtest.h>

namespace paceline::models {
namespace {

VolumeDenoiserConfig small_denoiser(std::int64_t previous_side = 0) {
  return {.encoder = {.num_views = 2, .xray_size = 16, .dim = 64},
          .geometry = {.fov_mm = 90},
          .side = 8,
          .previous_side = previous_side,
          .patch = 4,
          .dim = 12,
          .depth = 2,
          .num_heads = 2};
}

nn::NoisyVolumes small_volumes(std::int64_t previous_side, at::ScalarType dtype = at::kDouble) {
  nn::NoisyVolumes volumes{denoiser_numbers({2, 8, 8, 8}, 0, dtype),
                           at::tensor({3, 900}, at::kLong)};
  if (previous_side == 0) return volumes;
  volumes.previous = denoiser_numbers({2, previous_side, previous_side, previous_side}, 1, dtype);
  volumes.levels = at::tensor({0.0, 0.3}, at::kDouble);
  return volumes;
}

at::Tensor small_patient_xrays(at::ScalarType dtype = at::kDouble) {
  return denoiser_numbers({2, 2, 16, 16}, 2, dtype);
}

TEST(VolumeDenoiser, AContextServesForManySteps) {
  for (const FusedMode fused : {FusedMode::kOff, FusedMode::kOn}) {
    VolumeDenoiserConfig config = small_denoiser(4);
    config.fused = fused;
    VolumeDenoiser denoiser(config);
    fill_denoiser(denoiser, at::kFloat);
    const at::NoGradGuard no_grad;
    const at::Tensor xrays = small_patient_xrays(at::kFloat);
    const nn::XrayContext kept = denoiser.encode(xrays);
    EXPECT_EQ(kept.keys_values.size(), 2U);
    nn::NoisyVolumes volumes = small_volumes(4, at::kFloat);
    for (const std::int64_t step : {900, 400, 0}) {
      volumes.steps.fill_(step);
      const at::Tensor anew = denoiser.denoise(volumes, denoiser.encode(xrays));
      EXPECT_TRUE(at::equal(denoiser.denoise(volumes, kept), anew));
      volumes.noisy = anew;
    }
  }
}

TEST(VolumeDenoiser, EverythingItIsGivenCounts) {
  VolumeDenoiser denoiser(small_denoiser(4));
  fill_denoiser(denoiser);
  const nn::NoisyVolumes volumes = small_volumes(4);
  const at::Tensor xrays = small_patient_xrays();
  const at::Tensor wanted = denoiser.denoise(volumes, denoiser.encode(xrays));
  const auto changes = [&](const nn::NoisyVolumes& others, const at::Tensor& other_xrays) {
    const at::Tensor got = denoiser.denoise(others, denoiser.encode(other_xrays));
    return (got - wanted).abs().amax({1, 2, 3}).min().item<double>() > 1e-6;
  };
  EXPECT_FALSE(changes(volumes, xrays));
  nn::NoisyVolumes others = volumes;
  others.noisy = volumes.noisy * 0.5;
  EXPECT_TRUE(changes(others, xrays));
  others = volumes;
  others.steps = volumes.steps + 50;
  EXPECT_TRUE(changes(others, xrays));
  others = volumes;
  others.levels = volumes.levels + 0.1;
  EXPECT_TRUE(changes(others, xrays));
  others = volumes;
  others.previous = volumes.previous * 0.5;
  EXPECT_TRUE(changes(others, xrays));
  EXPECT_TRUE(changes(volumes, xrays.flip(1))) << "views are told apart";
  EXPECT_TRUE(changes(volumes, xrays.flip(0))) << "patients are told apart";
  for (const std::int64_t view : {0, 1}) {
    at::Tensor one_changed = xrays.clone();
    one_changed.select(1, view).mul_(0.5);
    EXPECT_TRUE(changes(volumes, one_changed)) << view;
  }
}

TEST(VolumeDenoiser, StartsAsThePreviousVolumeMadeFiner) {
  VolumeDenoiser denoiser(small_denoiser(4));
  nn::set_dtype(denoiser, at::kDouble);
  std::uint64_t index = 0;
  for (const nn::NamedTensor& item : nn::named_parameters(denoiser)) {
    const at::NoGradGuard no_grad;
    denoiser.initialize_parameter(item, {.seed = 1, .index = index++});
    if (item.name.starts_with("final.proj")) item.tensor.zero_();
  }
  nn::NoisyVolumes volumes = small_volumes(4);
  volumes.previous = at::arange(4, at::kDouble).view({1, 1, 4, 1}).expand({2, 4, 4, 4});
  const at::Tensor got = denoiser.denoise(volumes, denoiser.encode(small_patient_xrays()));
  // A ramp stays one between the outermost middles.
  const at::Tensor ramp = (at::arange(8, at::kDouble) / 2 - 0.25).clamp(0, 3);
  EXPECT_TRUE(got.allclose(ramp.view({1, 1, 8, 1}).expand_as(got), 1e-12, 1e-12));
}

TEST(VolumeDenoiser, EveryVoxelCanBeWritten) {
  VolumeDenoiser denoiser(small_denoiser());
  fill_denoiser(denoiser);
  const at::Tensor got = denoiser.denoise(small_volumes(0), denoiser.encode(small_patient_xrays()));
  const at::Tensor patches = patches_of_volumes(got.unsqueeze(1), 4);
  EXPECT_EQ(patches.sizes(), (std::vector<std::int64_t>{16, 64}));
  EXPECT_GT(patches.std(1).min().item<double>(), 0.01) << "one value for each token is not enough";
  EXPECT_TRUE(at::equal(volumes_of_patches(patches, 8, 4), got));
}

TEST(VolumeDenoiser, GradientsAreWhatDifferencesSay) {
  VolumeDenoiser denoiser(small_denoiser(4));
  fill_denoiser(denoiser);
  nn::NoisyVolumes volumes = small_volumes(4);
  const at::Tensor xrays = small_patient_xrays();
  const auto loss = [&] {
    return denoiser.denoise(volumes, denoiser.encode(xrays)).square().sum();
  };
  loss().backward();
  std::vector<at::Tensor> ways;
  double along = 0;
  const auto parameters = nn::named_parameters(denoiser);
  for (const nn::NamedTensor& item : parameters) {
    ways.push_back(denoiser_numbers(item.tensor.sizes().vec(), static_cast<double>(ways.size())));
    ASSERT_TRUE(item.tensor.grad().defined()) << item.name;
    EXPECT_GT(item.tensor.grad().abs().max().item<double>(), 0) << item.name;
    along += (item.tensor.grad() * ways.back()).sum().item<double>();
  }
  constexpr double kStep = 1e-7;  // few ReLUs turn on the way
  const at::NoGradGuard no_grad;
  const auto move = [&](double length) {
    for (std::size_t i = 0; i < ways.size(); ++i) parameters[i].tensor.add_(ways[i], length);
  };
  move(kStep);
  const double ahead = loss().item<double>();
  move(-2 * kStep);
  const double behind = loss().item<double>();
  EXPECT_NEAR((ahead - behind) / (2 * kStep), along, 1e-5 * std::abs(along));
}

/// A step of Adam without bias correction.
void move_by_adam(const std::vector<nn::NamedTensor>& parameters, std::vector<at::Tensor>& means,
                  std::vector<at::Tensor>& squares) {
  const at::NoGradGuard no_grad;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    at::Tensor& grad = parameters[i].tensor.mutable_grad();
    means[i].mul_(0.9).add_(grad, 0.1);
    squares[i].mul_(0.99).addcmul_(grad, grad, 0.01);
    parameters[i].tensor.addcdiv_(means[i], squares[i].sqrt().add_(1e-8), -2e-3);
    grad.reset();
  }
}

// From nothing but noise, X-rays and the step, with the first values that training has.
TEST(VolumeDenoiser, LearnsAPatientByHeart) {
  VolumeDenoiserConfig config = small_denoiser();
  config.dim = 32;
  VolumeDenoiser denoiser(config);
  const auto parameters = nn::named_parameters(denoiser);
  std::vector<at::Tensor> means;
  std::vector<at::Tensor> squares;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    denoiser.initialize_parameter(parameters[i], {.seed = 1, .index = i});
    means.push_back(at::zeros_like(parameters[i].tensor));
    squares.push_back(at::zeros_like(parameters[i].tensor));
  }
  const at::Tensor truth = denoiser_numbers({1, 8, 8, 8}, 0, at::kFloat);
  const at::Tensor xrays = denoiser_numbers({1, 2, 16, 16}, 2, at::kFloat);
  const auto error = [&](int draw) {
    const at::Tensor noise = denoiser_numbers({1, 8, 8, 8}, 1000.0 + draw, at::kFloat);
    const at::Tensor step = at::full({1}, 37 * draw % 1000, at::kLong);
    const nn::NoisyVolumes volumes{0.3 * truth + noise, step};
    return (denoiser.denoise(volumes, denoiser.encode(xrays)) - truth).square().mean();
  };
  const double before = error(1000).item<double>();
  for (int i = 0; i < 200; ++i) {
    error(i).backward();
    move_by_adam(parameters, means, squares);
  }
  EXPECT_GT(before, 0.3);
  EXPECT_LT(error(1000).item<double>(), 0.01 * before);
}

TEST(VolumeDenoiser, ComputesUnderAutocast) {
  for (const std::int64_t previous_side : {0, 4}) {
    VolumeDenoiser denoiser(small_denoiser(previous_side));
    fill_denoiser(denoiser, at::kFloat);
    const nn::NoisyVolumes volumes = small_volumes(previous_side, at::kFloat);
    const at::Tensor xrays = small_patient_xrays(at::kFloat);
    const at::Tensor wanted = denoiser.denoise(volumes, denoiser.encode(xrays));
    const tensor::AutocastGuard autocast(at::kCPU, at::kBFloat16);
    const at::Tensor got = denoiser.denoise(volumes, denoiser.encode(xrays));
    EXPECT_EQ(got.scalar_type(), at::kFloat);
    EXPECT_LT(((got - wanted).norm() / wanted.norm()).item<double>(), 0.05);
    EXPECT_FALSE(at::equal(got, wanted));
  }
}

TEST(VolumeDenoiser, RefusesOtherVolumes) {
  VolumeDenoiser denoiser(small_denoiser(4));
  fill_denoiser(denoiser);
  const nn::XrayContext context = denoiser.encode(small_patient_xrays());
  EXPECT_THROW(denoiser.denoise(small_volumes(0), context), base::InternalError);
  EXPECT_THROW(denoiser.denoise(small_volumes(8), context), base::InternalError);
}

}  // namespace
}  // namespace paceline::models

#include "paceline/train/tasks/volume/ct_diffusion.h"

#include "paceline/base/error.h"
#include "paceline/metrics/volume_quality.h"
#include "paceline/nn/diffusion/sample_draws.h"
#include "paceline/train/tasks/volume/patient_records.h"
#include "paceline/train/tasks/volume/volume_pictures.h"
#include "paceline/train/train_state.h"
#include "paceline/volume/projector.h"
#include "support/queued_device.h"
#include "unit/nn/volume/scaled_cascade.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::train {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

const data::SampleConstants kConstants{
    {"hu_window", {-1000, 3000}}, {"full_scale", {3}}, {"fov_mm", {400}},
    {"view_angles", {0, 90}},     {"cone_beam", {}},   {"ray_method", {0}}};

struct Diffusion {
  std::shared_ptr<nn::ScaledCascade> network;
  std::unique_ptr<CtDiffusion> task;

  explicit Diffusion(const std::vector<std::int64_t>& sides = {12}, CtDiffusionConfig config = {},
                     const data::SampleConstants& constants = kConstants)
      : network(std::make_shared<nn::ScaledCascade>(sides)) {
    config.sampling_steps = std::min<std::int64_t>(config.sampling_steps, 4);
    task = std::make_unique<CtDiffusion>(network, config);
    task->take_constants(constants);
  }
};

/// Smooth bodies with the X-rays that project() makes of them.
Batch batch_of_volumes(std::int64_t size, std::int64_t side, std::int64_t first_position = 0) {
  const at::Tensor axis = at::linspace(-1, 1, side, at::kDouble);
  const at::Tensor squares = axis.square();
  const at::Tensor radius = squares.view({side, 1, 1}) + squares.view({side, 1}) + squares;
  const at::Tensor sizes = at::arange(first_position, first_position + size, at::kDouble);
  const at::Tensor volumes =
      ((0.6 + 0.05 * sizes.view({-1, 1, 1, 1}) - radius.unsqueeze(0)) * 4).sigmoid() * 0.5 - 1;
  const nn::ProjectionLoss projection({}, {}, side, side);
  Batch batch;
  batch.size = size;
  batch.global_size = size;
  batch.first_position = first_position;
  batch.fields.set(kVolume, volumes);
  batch.fields.set(kXrays, projection.integrals_of_volumes(volumes) * 2 / 3 - 1);
  return batch;
}

Batch on_device(const Batch& batch, const at::Device& place) {
  Batch there = batch;
  there.fields = batch.fields.map([&](const at::Tensor& field) { return field.to(place); });
  return there;
}

TEST(CtDiffusion, AStepOnADeviceBringsNothingThere) {
  test::QueuedDevice device;
  Diffusion diffusion({6, 12});
  const Batch batch = batch_of_volumes(3, 12);
  const auto loss_at = [&](std::int64_t step, const Batch& of) {
    return diffusion.task->loss(diffusion.task->forward(of, {7, step, 0}), of);
  };
  const at::Tensor expected = loss_at(1, batch);
  diffusion.network->to(device.place());
  const Batch there = on_device(batch, device.place());
  loss_at(0, there);  // what stays the same is brought there
  device.gpu().reset_counts();
  const at::Tensor loss = loss_at(1, there);
  loss.backward();
  EXPECT_EQ(device.gpu().counts().waits, 1) << "for the step that ScaledCascade writes down";
  EXPECT_EQ(device.gpu().counts().pageable_copies, 0);
  EXPECT_DOUBLE_EQ(loss.cpu().item<double>(), expected.item<double>());
}

TEST(CtDiffusion, LossIsTheErrorOfVelocityByMinSnr) {
  Diffusion diffusion({12}, {.physics_weight = 0});
  const Batch batch = batch_of_volumes(3, 12);
  const nn::ForwardContext context{7, 5, 0};
  const tensor::Fields outputs = diffusion.task->forward(batch, context);
  const nn::NoiseSchedule schedule(1000);
  const at::Tensor& volumes = batch.fields.at(kVolume);
  const at::Tensor noise = nn::drawn_normals(volumes, nn::DiffusionDraw::kNoise, context);
  const at::Tensor& steps = outputs.at("steps");
  const at::Tensor noisy = nn::add_noise(schedule, volumes, noise, steps);
  const at::Tensor told = nn::velocity_of_samples(schedule, noisy, outputs.at("made"), steps);
  const at::Tensor wanted = nn::velocity(schedule, volumes, noise, steps);
  const at::Tensor expected =
      ((told - wanted).square().flatten(1).mean(1) * nn::velocity_weights(schedule, steps, 5.0))
          .sum();
  EXPECT_NEAR(diffusion.task->loss(outputs, batch).item<double>(), expected.item<double>(),
              1e-9 * expected.item<double>());
  EXPECT_GT((steps.max() - steps.min()).item<std::int64_t>(), 0) << "each sample has its own step";
}

TEST(CtDiffusion, DrawsAreThoseOfThePositionOnAnyRankAndInAnyMicrobatch) {
  Diffusion diffusion;
  const tensor::Fields whole = diffusion.task->forward(batch_of_volumes(3, 12, 4), {7, 5, 4});
  const tensor::Fields tail = diffusion.task->forward(batch_of_volumes(1, 12, 6), {7, 5, 6});
  EXPECT_TRUE(at::equal(whole.at("steps").slice(0, 2), tail.at("steps")));
  EXPECT_TRUE(whole.at("made").slice(0, 2).allclose(tail.at("made")));
  const tensor::Fields later = diffusion.task->forward(batch_of_volumes(3, 12, 4), {7, 6, 4});
  EXPECT_FALSE(at::equal(whole.at("steps"), later.at("steps")));
}

TEST(CtDiffusion, PhysicsIsAgainstEachViewAndWeighsWhatNoiseHasLeft) {
  Diffusion diffusion({12}, {.physics_weight = 0.5});
  const Batch batch = batch_of_volumes(2, 12);
  const at::Tensor& truth = batch.fields.at(kVolume);
  const at::Tensor steps = at::tensor({10, 900}, at::kLong);
  const auto parts = diffusion.task->loss_parts(truth, steps, batch);
  EXPECT_NEAR(parts.physics.sum().item<double>(), 0, 1e-12)
      << "true volumes agree with their X-rays";
  EXPECT_EQ(parts.diffusion.sum().item<double>(), 0);
  Batch turned = batch;
  turned.fields.set(kXrays, batch.fields.at(kXrays).roll(1, 3));
  const nn::ProjectionLoss projection({}, {}, 12, 12);
  const at::Tensor errors = projection.forward(truth, turned.fields.at(kXrays));
  const at::Tensor kept = nn::NoiseSchedule(1000).kept_at(steps, 1);
  EXPECT_TRUE(diffusion.task->loss_parts(truth, steps, turned).physics.allclose(errors * kept));
  turned.fields.set("clean_xrays", batch.fields.at(kXrays));
  EXPECT_NEAR(diffusion.task->loss_parts(truth, steps, turned).physics.sum().item<double>(), 0,
              1e-12)
      << "gain and noise of X-rays are none of the volume's";
}

TEST(CtDiffusion, PhysicsGoesByTheProjectorOfTheData) {
  constexpr std::int64_t kPixels = 8;  // voxels of 12 lie between them, where the projectors differ
  Batch batch = batch_of_volumes(1, 12);
  const at::Tensor& truth = batch.fields.at(kVolume);
  const at::Tensor attenuations = (truth + 1).contiguous() * 2;  // of HU from -1000 to 3000
  const std::span<const double> cube{attenuations.data_ptr<double>(), 12 * 12 * 12};
  std::vector<at::Tensor> views;
  for (const double angle : {0.0, 90.0}) {
    const volume::ViewRays rays({}, angle, {kPixels, kPixels});
    views.push_back(at::empty({kPixels, kPixels}, at::kDouble));
    volume::project<double>(cube, {12, 400}, rays, volume::RayMethod::kSiddon, 0, kPixels,
                            {views.back().data_ptr<double>(), kPixels * kPixels});
  }
  const at::Tensor integrals = at::stack(views).unsqueeze(0);
  batch.fields.set(kXrays, integrals * 2 / 3 - 1);
  const auto physics_by = [&](volume::RayMethod method, const at::Tensor& made) {
    data::SampleConstants constants = kConstants;
    constants["ray_method"] = {static_cast<double>(method)};
    Diffusion diffusion({12}, {}, constants);
    return diffusion.task->loss_parts(made, at::zeros({1}, at::kLong), batch)
        .physics.item<double>();
  };
  EXPECT_NEAR(physics_by(volume::RayMethod::kSiddon, truth), 0, 1e-20);
  EXPECT_GT(physics_by(volume::RayMethod::kTrilinear, truth), 1e-6);
  const double kept = nn::NoiseSchedule(1000).kept_at(0);
  EXPECT_NEAR(physics_by(volume::RayMethod::kSiddon, at::full_like(truth, -1)),
              kept * integrals.square().mean().item<double>(), 1e-12)
      << "of air";
}

TEST(CtDiffusion, LossIsDiffusionAndWeighedPhysics) {
  const Batch batch = batch_of_volumes(2, 12);
  for (const double weight : {0.0, 0.5}) {
    Diffusion diffusion({12}, {.physics_weight = weight});
    const tensor::Fields outputs = diffusion.task->forward(batch, {7, 5, 0});
    const at::Tensor sums = diffusion.task->sums(outputs, batch);
    EXPECT_GT(sums[1].item<double>(), 0) << "it is measured in any case";
    EXPECT_NEAR(diffusion.task->loss(outputs, batch).item<double>(),
                sums[0].item<double>() + weight * sums[1].item<double>(), 1e-9);
    EXPECT_EQ(outputs.at("physics").requires_grad(), weight > 0);
  }
}

TEST(CtDiffusion, ALaterStageSeesTheTrueVolumeOfTheOneBefore) {
  Diffusion diffusion({12, 24}, {.condition_noise = 0, .sampling_noise = 0});
  const Batch batch = batch_of_volumes(2, 24);
  const tensor::Fields outputs = diffusion.task->forward(batch, {7, 5, 0});
  const at::Tensor before = at::avg_pool3d(batch.fields.at(kVolume).unsqueeze(1), 2);
  const at::Tensor base = at::upsample_trilinear3d(before, {24, 24, 24}, false).squeeze(1);
  const nn::NoiseSchedule schedule(1000);
  const at::Tensor noise =
      nn::drawn_normals(base, nn::DiffusionDraw::kNoise, nn::ForwardContext{7, 5, 0});
  const at::Tensor noisy =
      nn::add_noise(schedule, batch.fields.at(kVolume), noise, outputs.at("steps"));
  const at::Tensor condition = batch.fields.at(kXrays).flatten(1).mean(1).view({-1, 1, 1, 1});
  EXPECT_TRUE(outputs.at("made").allclose(base + noisy * 0.5 + condition, 1e-9, 1e-12));
  for (const auto& item : diffusion.network->named_parameters())
    EXPECT_EQ(item.value().requires_grad(), item.key() == "stages.1.scale") << item.key();
}

TEST(CtDiffusion, EvaluationsMeasureDrawnVolumesOfEachStage) {
  Diffusion diffusion({12, 24}, {.samples = 2});
  const Batch batch = batch_of_volumes(2, 24);
  const auto evaluated = diffusion.task->evaluate(batch, {7, 5, 0});
  EXPECT_EQ(diffusion.network->num_encoded, 3) << "once in forward(), then once of each stage";
  Totals totals;
  totals.samples = 2;
  totals.sums = {evaluated.sums.data_ptr<double>(),
                 evaluated.sums.data_ptr<double>() + evaluated.sums.numel()};
  std::map<std::string, double> values;
  for (const Metric& metric : diffusion.task->metrics()) {
    ASSERT_TRUE(totals.has(metric)) << metric.name;
    values[metric.name] = totals.value(metric);
  }
  EXPECT_EQ(diffusion.task->metrics().front().name, "psnr");
  const at::Tensor first = evaluated.outputs.at(kFirstSample);
  const at::Tensor truth = batch.fields.at(kVolume);
  EXPECT_DOUBLE_EQ(values.at("psnr"), metrics::psnr(first, truth, 2).mean().item<double>());
  EXPECT_DOUBLE_EQ(values.at("hu_mae"), 2000 * (first - truth).abs().mean().item<double>());
  const at::Tensor mean = evaluated.outputs.at(kMeanVolume);
  EXPECT_DOUBLE_EQ(values.at("ssim_mean"), metrics::ssim(mean, truth, 2).mean().item<double>());
  for (const std::string name : {"psnr_stage1", "psnr_mean_stage1", "projection_error", "physics"})
    EXPECT_TRUE(values.contains(name)) << name;
  const at::Tensor& qualities = evaluated.outputs.at(PatientRecorder::kQualities);
  const std::vector<std::string> names = diffusion.task->quality_names();
  ASSERT_EQ(qualities.sizes(), (std::vector<std::int64_t>{2, std::ssize(names)}));
  for (std::size_t i = 0; i < names.size(); ++i) {
    const double mean_of_patients =
        qualities.select(1, static_cast<std::int64_t>(i)).mean().item<double>();
    EXPECT_NEAR(mean_of_patients, values.at(names[i]), 1e-9 * std::abs(mean_of_patients));
  }
  const auto again = diffusion.task->evaluate(batch, {7, 99, 0});
  EXPECT_TRUE(at::equal(again.sums, evaluated.sums)) << "draws are those of the position alone";
}

TEST(CtDiffusion, TrainingStepsShowNoMetricOfDrawnVolumes) {
  Diffusion diffusion;
  const Batch batch = batch_of_volumes(2, 12);
  const at::Tensor sums = diffusion.task->sums(diffusion.task->forward(batch, {}), batch);
  ASSERT_EQ(sums.numel(), diffusion.task->num_sums());
  Totals totals;
  totals.samples = 2;
  totals.sums = {sums.data_ptr<double>(), sums.data_ptr<double>() + sums.numel()};
  for (const Metric& metric : diffusion.task->metrics())
    EXPECT_EQ(totals.has(metric), metric.name == "diffusion" || metric.name == "physics");
}

TEST(CtDiffusion, DrawsAsItsConfigSays) {
  Batch batch = batch_of_volumes(2, 24, 4);
  batch.fields.set(kXrays, at::full({2, 2, 24, 24}, 0.2, at::kDouble));  // far from what is cut off
  const auto drawn_by = [&](nn::StepSpacing spacing, double noise) {
    Diffusion diffusion(
        {12, 24},
        {.condition_noise = 0.3, .sampling_steps = 3, .spacing = spacing, .sampling_noise = noise});
    const at::Tensor drawn = diffusion.task->predict(batch, {7, 0, 4}).at(kMean);
    const auto contexts = nn::encode_for_cascade(*diffusion.network, batch.fields.at(kXrays));
    const auto sampled = nn::sample_cascade(*diffusion.network, contexts, nn::NoiseSchedule(1000),
                                            {.steps = 3, .spacing = spacing, .level = noise},
                                            {7, /*first_position=*/4, /*sample=*/0});
    EXPECT_TRUE(drawn.equal(diffusion.task->units().to_hu(sampled.back().to(at::kFloat))));
    const auto evaluated = diffusion.task->evaluate(batch, {7, 0, 4});
    EXPECT_TRUE(evaluated.outputs.at(kFirstSample).equal(sampled.back()));
    return drawn;
  };
  const auto apart = [](const at::Tensor& drawn, const at::Tensor& other) {
    return (drawn - other).abs().max().item<double>();
  };
  const at::Tensor usual = drawn_by(nn::StepSpacing::kTrailing, 0);
  EXPECT_TRUE(usual.equal(drawn_by(nn::StepSpacing::kTrailing, 0)));
  EXPECT_GT(apart(drawn_by(nn::StepSpacing::kLinspace, 0), usual), 10);  // HU
  const at::Tensor noisy = drawn_by(nn::StepSpacing::kTrailing, 0.2);
  EXPECT_GT(apart(noisy, usual), 10);
  EXPECT_GT(apart(drawn_by(nn::StepSpacing::kTrailing, 0.3), noisy), 10);
}

TEST(CtDiffusion, PredictsHounsfieldUnitsByXraysAlone) {
  Diffusion diffusion({12}, {.samples = 3});
  Batch batch = batch_of_volumes(2, 12);
  Batch xrays;
  xrays.size = 2;
  xrays.fields.set(kXrays, batch.fields.at(kXrays));
  const tensor::Fields told = diffusion.task->predict(xrays, {7, 0, 0});
  const at::Tensor samples = told.at(kSamples);
  EXPECT_EQ(samples.sizes(), (std::vector<std::int64_t>{2, 3, 12, 12, 12}));
  EXPECT_LE(samples.max().item<double>(), 3000);
  EXPECT_GE(samples.min().item<double>(), -1000);
  EXPECT_TRUE(told.at(kMean).allclose(samples.mean(1)));
  EXPECT_TRUE(told.at(kDeviation).allclose(samples.std(1, true)));
  EXPECT_GT(told.at(kDeviation).max().item<double>(), 1) << "samples differ";
  Diffusion one({12});
  EXPECT_EQ(one.task->predict(xrays, {7, 0, 0}).at(kDeviation).abs().max().item<double>(), 0);
}

/// But for a shade, as numbers are rounded.
void expect_alike(const metrics::Picture& picture, const metrics::Picture& other) {
  EXPECT_EQ(picture.name, other.name);
  ASSERT_EQ(picture.width, other.width);
  ASSERT_EQ(picture.height, other.height);
  int apart = 0;
  for (std::size_t i = 0; i < picture.pixels.size(); ++i)
    apart = std::max(apart, std::abs(picture.pixels[i] - other.pixels[i]));
  EXPECT_LE(apart, 1) << picture.name;
}

TEST(CtDiffusion, ShowsTheFirstPatientsVolumesAndXrays) {
  Diffusion diffusion({12}, {.samples = 2});
  const Batch batch = batch_of_volumes(2, 12);
  const at::Tensor& truth = batch.fields.at(kVolume);
  const at::Tensor sample = truth + 0.2;
  const at::Tensor mean = truth + 0.1;
  const auto shown = diffusion.task->pictures({{std::string(kFirstSample), sample},
                                               {std::string(kMeanVolume), mean},
                                               {std::string(kDeviationVolume), truth * 0 + 0.05}},
                                              batch);
  ASSERT_EQ(shown.size(), 2u);
  const nn::VolumeUnits& units = diffusion.task->units();
  const at::Tensor deviation = at::full({12, 12, 12}, 100);  // Hounsfield units
  expect_alike(shown[0], slices_picture({.truth = units.to_hu(truth[0]),
                                         .sample = units.to_hu(sample[0]),
                                         .mean = units.to_hu(mean[0]),
                                         .deviation = deviation,
                                         .num_samples = 2},
                                        units.hu_window));
  const nn::ProjectionLoss projection({}, {}, 12, 12);
  const ShownXrays xrays{.given = projection.integrals_of_volumes(truth)[0],
                         .made = projection.integrals_of_volumes(mean)[0],
                         .angles_degrees = {0, 90},
                         .fov_mm = 400};
  expect_alike(shown[1], xrays_picture(xrays));

  tensor::Fields patient{{std::string(kMean), units.to_hu(mean[0])},
                         {std::string(kDeviation), deviation},
                         {std::string(kXrays), batch.fields.at(kXrays)[0]}};
  const auto predicted = diffusion.task->pictures_of_prediction(patient);
  ASSERT_EQ(predicted.size(), 2u);
  expect_alike(
      predicted[0],
      slices_picture({.mean = units.to_hu(mean[0]), .deviation = deviation, .num_samples = 2},
                     units.hu_window));
  expect_alike(predicted[1], xrays_picture(xrays));
  patient.set(kVolume, truth[0]);
  expect_alike(diffusion.task->pictures_of_prediction(patient)[0],
               slices_picture({.truth = units.to_hu(truth[0]),
                               .mean = units.to_hu(mean[0]),
                               .deviation = deviation,
                               .num_samples = 2},
                              units.hu_window));
}

TEST(CtDiffusion, RefusesWhatItCannotLearnFrom) {
  Diffusion diffusion({12, 24});
  const auto check = [&](nn::SampleSizes sizes) {
    return [&diffusion, sizes] { diffusion.task->check_samples({.sizes = sizes}); };
  };
  EXPECT_THAT(check({{"images", {3, 8, 8}}}),
              ThrowsMessage<base::ConfigError>(HasSubstr("data ct")));
  EXPECT_THAT(check({{"volume", {12, 12, 12}}, {"xrays", {2, 16, 16}}}),
              ThrowsMessage<base::ConfigError>(HasSubstr("data.side=24")));
  Diffusion small({8});
  EXPECT_THAT(
      [&] {
        small.task->check_samples({.sizes = {{"volume", {8, 8, 8}}}});
      },
      ThrowsMessage<base::ConfigError>(HasSubstr("window of 11")));
}

TEST(CtDiffusion, ComparesTheDataWithItsNetwork) {
  const auto with = [](std::string name, std::vector<double> values) {
    data::SampleConstants constants = kConstants;
    constants[std::move(name)] = std::move(values);
    return [constants] { Diffusion({12}, {}, constants); };
  };
  EXPECT_THAT(with("view_angles", {0, 45}),
              ThrowsMessage<base::ConfigError>(HasSubstr("data.geometry.angles")));
  EXPECT_THAT(with("cone_beam", {1000, 1500}),
              ThrowsMessage<base::ConfigError>(HasSubstr("source_to_isocentre_mm")));
  const auto of_cone_beams = [](double fov_mm) {
    data::SampleConstants constants = kConstants;
    constants["cone_beam"] = {1000, 1500};
    constants["fov_mm"] = {fov_mm};
    CtDiffusion task(std::make_shared<nn::ScaledCascade>(
                         std::vector<std::int64_t>{12}, 0.5,
                         volume::ProjectionGeometry{.cone = volume::ConeBeam{1000, 1500}}),
                     {});
    task.take_constants(constants);
  };
  EXPECT_THAT([&] { of_cone_beams(350); },
              ThrowsMessage<base::ConfigError>(HasSubstr("set model.fov_mm=350")));
  EXPECT_NO_THROW(of_cone_beams(400));
  EXPECT_NO_THROW(with("fov_mm", {350})()) << "of parallel beams it says nothing";
  EXPECT_THAT([] { Diffusion({12}, {}, {}); },
              ThrowsMessage<base::ConfigError>(HasSubstr("as those of data ct")));
  Diffusion other({12}, {}, [] {
    data::SampleConstants constants = kConstants;
    constants["hu_window"] = {-200, 200};
    return constants;
  }());
  EXPECT_DOUBLE_EQ(other.task->units().hu_per_unit(), 200);
}

}  // namespace
}  // namespace paceline::train

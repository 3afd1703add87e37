#include "paceline/app/assembly/data_assembly.h"

#include "paceline/app/assembly/model_assembly.h"
#include "paceline/app/assembly/recipe_check.h"
#include "paceline/app/recipe/builtin.h"
#include "paceline/base/error.h"
#include "paceline/config/bind.h"
#include "paceline/config/parse.h"
#include "support/data/npy_files.h"
#include "support/temp_folder.h"
#include "unit/app/own_task.h"

#include <cstring>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::app {
namespace {

/// Samples of one number, which paceline knows nothing of.
struct OwnConfig {
  bool is_there = true;
};

class Own final : public data::Dataset, public data::SampleMaker {
 public:
  std::int64_t size() const override { return 4; }
  void get(std::int64_t, data::StoredSample&) const override {}
  std::string describe(std::int64_t) const override { return "a number"; }
  std::string fingerprint() const override { return "own"; }
  const std::vector<data::FieldSpec>& fields() const override { return fields_; }
  data::EraseSteps make(const data::StoredSample&, const data::DrawKey&, data::TransformScratch&,
                        std::span<std::byte* const>) const override {
    return {};
  }

 private:
  std::vector<data::FieldSpec> fields_{{.name = "number", .sizes = {1}}};
};

std::unique_ptr<data::DatasetPlan> make(const OwnConfig& config) {
  auto plan = std::make_unique<data::DatasetPlan>();
  plan->open = [=](auto&&...) {
    if (!config.is_there) throw base::DataError("own data are not there");
    return std::make_unique<Own>();
  };
  plan->make_samples = [](auto&&...) { return std::make_shared<Own>(); };
  return plan;
}

}  // namespace
}  // namespace paceline::app

template <>
struct paceline::config::Schema<paceline::app::OwnConfig> {
  using Config = paceline::app::OwnConfig;
  static constexpr std::string_view name = "own";
  static constexpr std::string_view summary = "Numbers.";
  static constexpr auto fields = std::tuple{field(&Config::is_there, "is_there", "Or not.")};
};

namespace paceline::app {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::ThrowsMessage;

constexpr const char* kModel =
    "model: {name: vit, img_size: 8, patch_size: 4, embed_dim: 8, depth: 1, num_heads: 2}\n";

class DataAssemblyTest : public ::testing::Test {
 protected:
  DataAssemblyTest() {
    registries_->datasets.add<OwnConfig>();
    registries_->tasks.add<OwnTaskConfig>();
    folder_.write("train/volume.npy", paceline::test::npy_file<float>("<f4", {3, 1, 4, 4, 4}));
    folder_.write("train/organs.npy", paceline::test::npy_file<std::uint8_t>("|u1", {3, 4, 4, 4}));
  }

  Recipe recipe(const std::string& yaml) const {
    return config::bind<Recipe>(config::parse_yaml(yaml, "r.yaml"), {registries_->catalogs(), 1});
  }
  DataPart open(const std::string& data) const {
    return open_data(recipe("data: {" + data + "}"), *registries_, data::Split::kTrain, nullptr);
  }
  std::vector<std::string> problems(const std::string& yaml) const {
    return problems_without_data({recipe(yaml), config::parse_yaml(yaml, "r.yaml")}, *registries_);
  }
  std::string arrays() const { return "name: arrays, path: " + folder_.path().string(); }

  paceline::test::TempFolder folder_;
  std::unique_ptr<Registries> registries_ = make_registries();
};

TEST_F(DataAssemblyTest, SettingsOfImagesAreRefusedForWhatIsNone) {
  const std::vector<std::pair<std::string, std::string>> settings{
      {"image_size: 32", "data.image_size"},
      {"progressive_resizing: {start_size: 8}", "data.progressive_resizing.start_size"},
      {"exif: apply", "data.exif"},
      {"train_transforms: [normalize]", "data.train_transforms"},
      {"eval_transforms: [normalize]", "data.eval_transforms"}};
  for (const auto& [setting, key] : settings) {
    EXPECT_THAT([&] { open("name: own, " + setting); },
                ThrowsMessage<base::ConfigError>(
                    AllOf(HasSubstr(key + ": only for images"), HasSubstr("samples of own"))));
  }
  EXPECT_THAT([&] { open(arrays() + ", image_size: 32"); },
              ThrowsMessage<base::ConfigError>(HasSubstr("data.image_size: only for images")));
  EXPECT_EQ(word_for_samples(open("name: own").maker->fields()), "samples");
  EXPECT_EQ(word_for_samples(open("name: synthetic").maker->fields()), "images");
}

TEST_F(DataAssemblyTest, ImagesNeedNotBeSquare) {
  const Recipe wide = recipe(
      "data: {name: synthetic, size: 32, progressive_resizing: {start_size: 8},"
      " train_transforms: [{name: random_resized_crop, size: [16, 24]}, normalize]}");
  DataPart part = open_data(wide, *registries_, data::Split::kTrain, nullptr);
  EXPECT_EQ(describe_fields(part.maker->fields()), "16 x 24 pixels");
  add_progressive_resizing(part, wide, *registries_,
                           {.total_steps = 100, .steps_per_epoch = 10, .samples_per_step = 8});
  EXPECT_EQ(part.pipeline_changes.front().pipeline->output_size(), (data::ImageSize{8, 12}));
  EXPECT_EQ(part.pipeline_changes.back().pipeline->output_size(), (data::ImageSize{16, 24}));
  EXPECT_EQ(part.image_sizes.front().size, (data::ImageSize{8, 12}));
  EXPECT_THAT(problems(std::string(kModel) + "data: {name: synthetic, image_size: [8, 12]}"),
              ElementsAre(HasSubstr("takes images of 8x8 pixels, got 8x12")));
  EXPECT_THAT(problems("model: resnet18\ndata: {name: synthetic, image_size: [64, 96]}"),
              IsEmpty());
  EXPECT_THAT([&] { recipe("data: {image_size: [8, 8, 8]}"); },
              ThrowsMessage<base::ConfigError>(HasSubstr("a side or [height, width]")));
}

TEST_F(DataAssemblyTest, ImagesThatGetSmallerAfterTheLoaderAreDrawnWhole) {
  const Recipe growing = recipe(
      "data: {name: synthetic, size: 32, train_transforms: [{name: resize, size: [18, 27]}, "
      "normalize], progressive_resizing: {start_size: 12, begin: 0ba, end: 10ba, increment: 4, "
      "mode: crop}}");
  DataPart part = open_data(growing, *registries_, data::Split::kTrain, nullptr);
  add_progressive_resizing(part, growing, *registries_,
                           {.total_steps = 100, .steps_per_epoch = 10, .samples_per_step = 8});
  EXPECT_THAT(part.pipeline_changes, IsEmpty());
  ASSERT_EQ(part.image_sizes.size(), 3u);
  EXPECT_EQ(part.image_sizes[0].size, (data::ImageSize{12, 18}));
  EXPECT_EQ(part.image_sizes[1].size, (data::ImageSize{16, 24}));
  EXPECT_EQ(part.image_sizes[1].first_step, 7);
  EXPECT_EQ(part.image_sizes[2].size, (data::ImageSize{18, 27}));
}

TEST_F(DataAssemblyTest, ViewsAreDrawnInTrainingAndRefusedInEvaluation) {
  const std::string crops = "[{name: ten_crop, size: 24}, normalize]";
  const Recipe views = recipe("data: {name: synthetic, size: 32, train_transforms: " + crops +
                              ", eval_transforms: " + crops + "}");
  const DataPart part = open_data(views, *registries_, data::Split::kTrain, nullptr);
  EXPECT_EQ(part.pipeline->num_views(), 10);
  EXPECT_EQ(describe_fields(part.maker->fields()), "24 x 24 pixels");
  EXPECT_THAT([&] { open_data(views, *registries_, data::Split::kVal, nullptr); },
              ThrowsMessage<base::ConfigError>(HasSubstr("data.eval_transforms: 10 views")));
}

TEST_F(DataAssemblyTest, MixturesAreSampledByPart) {
  const Recipe mixed = recipe(
      "data: {name: mixture, sampler: {name: by_part, weights: [1, 1], places_per_epoch: 16},"
      " parts: [{name: synthetic, num_samples: 10}, {name: synthetic, num_samples: 30}]}");
  DataPart part = open_data(mixed, *registries_, data::Split::kTrain, nullptr);
  EXPECT_EQ(part.dataset->size(), 40);
  EXPECT_EQ(choose_sampler(part, mixed, *registries_), 16);
  int of_first = 0;
  for (std::int64_t place = 0; place < 16; ++place)
    of_first += part.dataset->part(part.sampler->at(0, place)) == 0 ? 1 : 0;
  EXPECT_EQ(of_first, 8);
  EXPECT_THAT([&] { recipe("data: {name: mixture, parts: [{name: synthetic, num_sample: 10}]}"); },
              ThrowsMessage<base::ConfigError>(HasSubstr("num_samples")));
}

TEST_F(DataAssemblyTest, ArraysAreCutAndMovedTogether) {
  const DataPart part =
      open(arrays() + ", train_transforms: [{name: random_crop, size: [2, 3, 4]}]");
  EXPECT_EQ(describe_fields(part.maker->fields()), "organs 2 x 3 x 4, volume 1 x 2 x 3 x 4");
}

TEST_F(DataAssemblyTest, ArraysAreMovedByTheirTransforms) {
  const DataPart part =
      open(arrays() + ", train_transforms: [{name: random_flip, axes: [-1, -2, -3]}]");
  EXPECT_FALSE(part.pipeline);
  EXPECT_EQ(describe_fields(part.maker->fields()), "organs 4 x 4 x 4, volume 1 x 4 x 4 x 4");
  EXPECT_THAT([&] { open(arrays() + ", train_transforms: [random_horizontal_flip]"); },
              ThrowsMessage<base::ConfigError>(
                  HasSubstr("random_horizontal_flip is for images, and the samples are arrays")));
}

TEST_F(DataAssemblyTest, ACheckOpensWhatIsNoImages) {
  const std::string task = std::string(kModel) + "task: own_task\ntrain: {eval_every: null}\n";
  EXPECT_THAT(problems(task + "data: own"), IsEmpty());
  EXPECT_THAT(problems(task + "data: {name: own, is_there: false}"),
              ElementsAre("own data are not there"));
  EXPECT_THAT(problems(task + "data: {" + arrays() + "}"),
              ElementsAre(HasSubstr("does not suit the data")));
  EXPECT_THAT(problems(task + "data: {name: arrays, path: 's3://bucket/scans', fields: [a]}"),
              IsEmpty())
      << "no check asks another machine";
  EXPECT_THAT(problems(task + "data: {name: own, image_size: 8}"),
              ElementsAre(HasSubstr("data.image_size: only for images")));
}

TEST_F(DataAssemblyTest, ALossThatTheTaskDoesNotTakeIsRefused) {
  const std::string own = std::string(kModel) + "task: own_task\ndata: own\n";
  EXPECT_NO_THROW(make_task(recipe(own), *registries_));
  EXPECT_NO_THROW(make_task(recipe(own + "loss: cross_entropy"), *registries_)) << "the default";
  EXPECT_THAT(
      [&] { make_task(recipe(own + "loss: {label_smoothing: 0.1}"), *registries_); },
      ThrowsMessage<base::ConfigError>(HasSubstr("loss.label_smoothing: task own_task has a loss "
                                                 "of its own")));
}

TEST_F(DataAssemblyTest, ATaskOfClassesNeedsAnOutputForEach) {
  const auto open_with = [&](int num_classes) {
    const std::string yaml = fmt::format(
        "model: {{name: vit, img_size: 8, patch_size: 4, embed_dim: 8, depth: 1, "
        "num_heads: 2, num_classes: {}}}\n"
        "data: {{name: synthetic, num_classes: 7, image_size: 8}}\n",
        num_classes);
    meet_samples(*make_task(recipe(yaml), *registries_),
                 open_data(recipe(yaml), *registries_, data::Split::kTrain, nullptr));
  };
  EXPECT_NO_THROW(open_with(7));
  EXPECT_NO_THROW(open_with(9)) << "weights of more classes may be gone on with";
  EXPECT_THAT([&] { open_with(6); },
              ThrowsMessage<base::DataError>(
                  AllOf(HasSubstr("7 classes"), HasSubstr("model.num_classes is 6"))));
}

TEST_F(DataAssemblyTest, WithoutMetricsTheLossIsLookedAt) {
  const std::string own = std::string(kModel) + "task: own_task\ndata: own\n";
  EXPECT_THAT(problems(own + "callbacks: {early_stop: }"), IsEmpty());
  EXPECT_THAT(problems(own + "checkpoint: {monitor: val/top1}"),
              ElementsAre(HasSubstr("checkpoint.monitor: 'val/top1' is no metric")));
}

}  // namespace
}  // namespace paceline::app

#include "paceline/app/assembly/image_values.h"

#include "paceline/app/assembly/data_assembly.h"
#include "paceline/app/assembly/model_assembly.h"
#include "paceline/app/recipe/builtin.h"
#include "paceline/base/error.h"
#include "paceline/comm/fake/fake_communicator.h"
#include "paceline/config/bind.h"
#include "paceline/config/parse.h"
#include "paceline/models/airbench/airbench94.h"
#include "paceline/nn/module_tree.h"
#include "paceline/parallel/replicated/replicated_strategy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::app {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

class ImageValues : public ::testing::Test {
 protected:
  static constexpr const char* kSynthetic =
      "data: {name: synthetic, num_samples: 30, num_classes: 4, size: 16, image_size: 16}\n";

  Recipe recipe_of(const std::string& model, const std::string& more = kSynthetic) {
    return config::bind<Recipe>(
        config::parse_yaml("run: {seed: 1}\nmodel: " + model + "\n" + more, "test.yaml"),
        {registries_->catalogs(), 1});
  }
  /// The weights that a run of this recipe starts from.
  at::Tensor start_of(const Recipe& recipe, const std::string& parameter) {
    const auto train_set = open_dataset(recipe, *registries_, data::Split::kTrain, nullptr);
    const auto task = make_task(recipe, *registries_);
    nn::Network& network = task->network();
    const parallel::FillValues drawn = [&network](const nn::NamedTensor& tensor) {
      network.initialize_parameter(tensor, {.seed = 1});
    };
    parallel::make_none({})->prepare(
        network, optim::weight_decay_rules(0, false, {}),
        with_values_of_images(drawn, network, *train_set, recipe, *registries_, *ranks_));
    for (const auto& named : nn::named_parameters(network)) {
      if (named.name == parameter) return named.tensor.detach().clone();
    }
    return {};
  }

  std::unique_ptr<Registries> registries_ = make_registries();
  std::unique_ptr<comm::Communicator> ranks_ = comm::make_fake_communicator(0, 1);
};

TEST_F(ImageValues, AirbenchWhitensByTheFirstImages) {
  const Recipe recipe = recipe_of("{name: airbench94, widths: [8, 8, 8], num_classes: 4}");
  const auto train_set = open_dataset(recipe, *registries_, data::Split::kTrain, nullptr);
  const at::Tensor images = first_images(*train_set, recipe, *registries_, 5000);
  EXPECT_EQ(images.sizes(), (std::vector<std::int64_t>{30, 3, 16, 16}));
  EXPECT_TRUE(at::equal(first_images(*train_set, recipe, *registries_, 7), images.slice(0, 0, 7)));
  const at::Tensor started = start_of(recipe, "0.weight");
  EXPECT_TRUE(at::equal(started, models::whitening_filters(images, 2, 5e-4)));
  EXPECT_FALSE(started.requires_grad());
  EXPECT_TRUE(at::equal(start_of(recipe, "2.norm1.weight"), at::ones({8})));
}

TEST_F(ImageValues, PretrainedWeightsKeepTheirWhitening) {
  Recipe recipe = recipe_of("{name: airbench94, widths: [8, 8, 8], num_classes: 4}");
  const at::Tensor of_images = start_of(recipe, "0.weight");
  recipe.model.pretrained = "weights.safetensors";
  EXPECT_FALSE(at::equal(start_of(recipe, "0.weight"), of_images));
}

TEST_F(ImageValues, OthersStartAsDrawn) {
  const Recipe recipe = recipe_of("{name: resnet9, width: 2, num_classes: 4}");
  const auto task = make_task(recipe, *registries_);
  at::Tensor drawn = at::empty({2, 3, 3, 3});
  task->network().initialize_parameter({"prep.conv.weight", drawn}, {.seed = 1});
  EXPECT_TRUE(at::equal(start_of(recipe, "prep.conv.weight"), drawn));
}

/// Images of which every second one is damaged, or arrays.
class OddSamples final : public data::Dataset {
 public:
  explicit OddSamples(bool are_arrays) : are_arrays_(are_arrays) {}
  std::int64_t size() const override { return 6; }
  int num_classes() const override { return 4; }
  std::vector<std::string> class_names() const override { return {}; }
  std::int64_t label(std::int64_t) const override { return 0; }
  void get(std::int64_t index, data::StoredSample& sample) const override {
    if (index % 2 == 0) throw base::DataError("it is damaged");
    sample.width = sample.height = 16;
    sample.bytes.assign(16 * 16 * 3, static_cast<std::uint8_t>(index));
  }
  std::vector<data::FieldSpec> stored_fields() const override {
    if (!are_arrays_) return {};
    return {{.name = "volume", .sizes = {4, 4, 4}}};
  }
  std::string describe(std::int64_t index) const override { return fmt::format("image {}", index); }
  std::string fingerprint() const override { return "odd"; }

 private:
  bool are_arrays_;
};

TEST_F(ImageValues, LeavesOutDamagedImagesWhereTheRecipeDoes) {
  Recipe recipe = recipe_of("{name: airbench94, num_classes: 4}");
  const OddSamples odd(/*are_arrays=*/false);
  EXPECT_THAT([&] { first_images(odd, recipe, *registries_, 6); },
              ThrowsMessage<base::DataError>(HasSubstr("image 0: it is damaged")));
  recipe.data.on_error = data::OnError::kSkip;
  EXPECT_EQ(first_images(odd, recipe, *registries_, 6).size(0), 3);
  EXPECT_EQ(first_images(odd, recipe, *registries_, 2).size(0), 2);
}

TEST_F(ImageValues, RefusesSamplesThatAreNoImages) {
  EXPECT_THAT(
      [&] {
        first_images(OddSamples(/*are_arrays=*/true),
                     recipe_of("{name: airbench94, num_classes: 4}"), *registries_, 6);
      },
      ThrowsMessage<base::ConfigError>(HasSubstr("airbench94 starts from training images")));
}

}  // namespace
}  // namespace paceline::app

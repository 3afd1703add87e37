#include "paceline/data/sources/mixture.h"

#include "paceline/base/error.h"
#include "paceline/data/sources/image_folder.h"
#include "paceline/data/sources/synthetic.h"
#include "support/data/test_images.h"
#include "support/temp_folder.h"

#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::data {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

std::unique_ptr<DatasetPlan> plan_of_parts(std::vector<std::unique_ptr<DatasetPlan>> plans) {
  MixtureConfig config;
  for (std::size_t i = 0; i < plans.size(); ++i) config.parts.push_back({"some"});
  return make(config, std::move(plans));
}

TEST(Mixture, OpensBothSplitsOfItsParts) {
  std::vector<std::unique_ptr<DatasetPlan>> plans;
  plans.push_back(make(SyntheticConfig{.num_samples = 7, .num_val_samples = 3, .num_classes = 4}));
  plans.push_back(make(SyntheticConfig{.num_samples = 5, .num_val_samples = 2, .num_classes = 4}));
  const auto plan = plan_of_parts(std::move(plans));
  EXPECT_EQ(plan->open(Split::kTrain, local_storage(), std::nullopt)->size(), 12);
  const auto val = plan->open(Split::kVal, local_storage(), std::nullopt);
  EXPECT_EQ(val->size(), 5);
  EXPECT_EQ(val->num_classes(), 4);
  EXPECT_EQ(val->part(3), 1);
  EXPECT_EQ(plan->default_image_size, make(SyntheticConfig{})->default_image_size);
  EXPECT_FALSE(plan->eval_transforms(16).empty());
}

TEST(Mixture, EvaluatesByThePartsThatHaveValidationSamples) {
  const paceline::test::TempFolder folder;
  for (const std::string file :
       {"both/train/cat/a.jpg", "both/val/cat/b.jpg", "one/train/cat/c.jpg"}) {
    std::filesystem::create_directories((folder.path() / file).parent_path());
    folder.write(file, "x");
  }
  const auto plan_over = [&](const std::vector<std::string>& names) {
    std::vector<std::unique_ptr<DatasetPlan>> plans;
    for (const std::string& name : names)
      plans.push_back(make(ImageFolderConfig{.path = (folder.path() / name).string()}));
    return plan_of_parts(std::move(plans));
  };
  const auto open = [](const DatasetPlan& plan, Split split) {
    return plan.open(split, local_storage(), std::nullopt);
  };
  EXPECT_EQ(open(*plan_over({"both", "one"}), Split::kTrain)->size(), 2);
  EXPECT_EQ(open(*plan_over({"both", "one"}), Split::kVal)->size(), 1);
  EXPECT_THROW(open(*plan_over({"one", "one"}), Split::kVal), AbsentPartError);
}

TEST(Mixture, RefusesWhatItCannotMix) {
  std::vector<std::unique_ptr<DatasetPlan>> plans;
  plans.push_back(make(SyntheticConfig{}));
  plans.push_back(make(SyntheticConfig{}));
  plans.back()->make_samples = [](const Dataset&, Split) { return nullptr; };
  EXPECT_THAT([&] { plan_of_parts(std::move(plans)); },
              ThrowsMessage<base::ConfigError>(HasSubstr("part 2, some, makes its samples")));
  std::vector<std::unique_ptr<DatasetPlan>> good;
  good.push_back(make(SyntheticConfig{}));
  const auto plan = plan_of_parts(std::move(good));
  EXPECT_THAT([&] { plan->open(Split::kVal, local_storage(), "elsewhere"); },
              ThrowsMessage<base::ConfigError>(HasSubstr("data.val_path: mixture")));
}

}  // namespace
}  // namespace paceline::data

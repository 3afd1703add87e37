#include "paceline/data/sources/dataset_plan.h"

#include "paceline/base/error.h"
#include "paceline/data/pack/packed_dataset.h"
#include "paceline/data/parquet/parquet_dataset.h"
#include "paceline/data/sources/cifar.h"
#include "paceline/data/sources/image_folder.h"
#include "paceline/data/sources/image_list.h"
#include "paceline/data/sources/imagenet/ilsvrc2012.h"
#include "paceline/data/sources/mnist.h"
#include "paceline/data/sources/npy_dataset.h"
#include "paceline/data/sources/synthetic.h"
#include "paceline/data/sources/webdataset.h"
#include "paceline/data/transforms/pipeline.h"
#include "support/temp_folder.h"

#include <gtest/gtest.h>

namespace paceline::data {
namespace {

template <class Config>
void expect_needs_path() {
  EXPECT_THROW(open(Config{}, Split::kTrain), base::ConfigError) << config::Schema<Config>::name;
  EXPECT_THROW(open(Config{}, Split::kVal), base::ConfigError) << config::Schema<Config>::name;
  EXPECT_THROW(make(Config{})->check_place(), base::ConfigError) << config::Schema<Config>::name;
}

TEST(DatasetPlan, EveryDatasetOfFilesNeedsAPath) {
  expect_needs_path<ImageFolderConfig>();
  expect_needs_path<ImageListConfig>();
  expect_needs_path<Ilsvrc2012Config>();
  expect_needs_path<WebDatasetConfig>();
  expect_needs_path<ParquetConfig>();
  expect_needs_path<PackedConfig>();
  expect_needs_path<MnistConfig>();
  expect_needs_path<NpyConfig>();
  expect_needs_path<Cifar10Config>();
  expect_needs_path<Cifar100Config>();
  EXPECT_NO_THROW(make(SyntheticConfig{})->check_place());
}

TEST(DatasetPlan, OpensTheValidationPartElsewhere) {
  const paceline::test::TempFolder folder;
  folder.write("train/a/1.jpg", "x");
  folder.write("val/a/1.jpg", "x");
  folder.write("other/a/1.jpg", "x");
  folder.write("other/b/2.jpg", "x");
  ImageFolderConfig config;
  config.path = folder.path().string();
  const auto plan = make(config);
  const std::string other = (folder.path() / "other").string();
  EXPECT_EQ(plan->open(Split::kVal, local_storage(), std::nullopt)->size(), 1);
  EXPECT_EQ(plan->open(Split::kVal, local_storage(), other)->size(), 2);
  EXPECT_EQ(plan->open(Split::kTrain, local_storage(), other)->size(), 1);
  EXPECT_THROW(make(SyntheticConfig{})->open(Split::kVal, local_storage(), other),
               base::ConfigError);
}

TEST(DatasetPlan, UsualTransformsGiveTheSizeThatIsAskedFor) {
  for (const UsualTransforms& usual :
       {photo_transforms(), small_image_transforms(32), digit_transforms()}) {
    for (const config::Sides& size :
         {config::Sides(usual.default_image_size), config::Sides(48), config::Sides(32, 48)}) {
      const ImageSize wanted{size.height(), size.width()};
      const InputSize square{wanted, "an image", "data.train_transforms"};
      for (const Augmentation augmentation : {Augmentation::kNone, Augmentation::kWeak,
                                              Augmentation::kMedium, Augmentation::kStrong}) {
        const TransformPipeline pipeline(usual.train(size, augmentation), square);
        EXPECT_EQ(pipeline.output_size(), wanted);
      }
      EXPECT_EQ(TransformPipeline(usual.eval(size), square).output_size(), wanted);
    }
  }
}

}  // namespace
}  // namespace paceline::data

#include "paceline/app/recipe/usual_transforms.h"

namespace paceline::app {

config::Sides image_size_of(const DataSection& section, const data::DatasetPlan& plan) {
  return section.image_size.value_or(section.preprocessing.crop.value_or(plan.default_image_size));
}

std::vector<data::TransformConfig> usual_transforms(const DataSection& section,
                                                    const data::DatasetPlan& plan,
                                                    data::Split split) {
  const config::Sides size = image_size_of(section, plan);
  return prepared(split == data::Split::kTrain ? plan.train_transforms(size, section.augmentation)
                                               : plan.eval_transforms(size),
                  section.preprocessing);
}

}  // namespace paceline::app

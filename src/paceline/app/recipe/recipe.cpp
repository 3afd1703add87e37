#include "paceline/app/recipe/recipe.h"

#include "paceline/base/error.h"
#include "paceline/data/dataset/subset.h"

void paceline::config::Schema<paceline::app::DataSection>::validate(const Section& value,
                                                                    Problems& problems) {
  if (value.global_batch_size && value.batch_size_per_rank) {
    problems.add("batch_size_per_rank",
                 fmt::format("give either data.global_batch_size ({}: over all ranks) or "
                             "data.batch_size_per_rank ({}: times the number of ranks), not both",
                             *value.global_batch_size, *value.batch_size_per_rank));
  }
  if (value.image_size && value.image_size->lengths.size() > 2)
    problems.add("image_size",
                 "an image has a side or [height, width], got " + value.image_size->to_string());
  if (value.augmentation != data::Augmentation::kWeak && !value.train_transforms.empty()) {
    problems.add("augmentation",
                 "says nothing where data.train_transforms is written: take one of them out");
  }
  if (value.val_path && value.val_share)
    problems.add("val_share", "give either data.val_path or data.val_share, not both");
  try {
    data::parse_subset_size(value.subset);
  } catch (const base::ConfigError& error) {
    problems.add("subset", error.what());
  }
}

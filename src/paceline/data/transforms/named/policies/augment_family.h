#pragma once

#include "paceline/config/problems.h"
#include "paceline/config/schema.h"
#include "paceline/data/transforms/composer_augment.h"

#include <array>
#include <initializer_list>
#include <span>
#include <string_view>

namespace paceline::data {

/// Whose operations, magnitudes and draws a policy has.
enum class AugmentFamily { kTorchvision, kComposer, kTimm };

/// A setting that only some families have.
struct FamilySetting {
  std::string_view field;
  bool is_given = false;
  std::initializer_list<AugmentFamily> owners;
};

/// For Schema::validate: a problem for each setting that is given and that `family` does not have.
void refuse_others_settings(AugmentFamily family, std::initializer_list<FamilySetting> settings,
                            config::Problems& problems);

}  // namespace paceline::data

template <>
struct paceline::config::EnumNames<paceline::data::AugmentFamily> {
  using Family = data::AugmentFamily;
  static constexpr std::array names{EnumName{Family::kTorchvision, "torchvision"},
                                    EnumName{Family::kComposer, "composer"},
                                    EnumName{Family::kTimm, "timm"}};
};

template <>
struct paceline::config::EnumNames<paceline::data::ComposerSet> {
  using Set = data::ComposerSet;
  static constexpr std::array names{EnumName{Set::kAll, "all"}, EnumName{Set::kSafe, "safe"},
                                    EnumName{Set::kOriginal, "original"}};
};

#include "paceline/data/transforms/named/policies/augment_family.h"

#include "paceline/base/text.h"

#include <algorithm>
#include <string>
#include <vector>

namespace paceline::data {

void refuse_others_settings(AugmentFamily family, std::initializer_list<FamilySetting> settings,
                            config::Problems& problems) {
  for (const FamilySetting& setting : settings) {
    if (!setting.is_given || std::ranges::find(setting.owners, family) != setting.owners.end())
      continue;
    std::vector<std::string> owners;
    for (const AugmentFamily owner : setting.owners) owners.emplace_back(config::enum_name(owner));
    problems.add(setting.field,
                 fmt::format("family {} has no such setting, only {}: take it out",
                             config::enum_name(family), base::join(owners, " and ")));
  }
}

}  // namespace paceline::data

#include "paceline/data/sources/mixture.h"

#include "paceline/base/error.h"
#include "paceline/data/dataset/concatenation.h"

#include <cstddef>
#include <exception>
#include <optional>
#include <string>
#include <utility>

namespace paceline::data {
namespace {

using Plans = std::vector<std::unique_ptr<DatasetPlan>>;

/// The split of all parts that have it. Throws AbsentPartError if none has.
std::unique_ptr<Dataset> open_parts(const Plans& plans, Split split,
                                    const std::shared_ptr<const Storage>& storage) {
  std::vector<std::unique_ptr<Dataset>> parts;
  std::exception_ptr absent;
  for (const auto& plan : plans) {
    try {
      parts.push_back(plan->open(split, storage, std::nullopt));
    } catch (const AbsentPartError&) {
      if (split == Split::kTrain) throw;
      absent = std::current_exception();
    }
  }
  if (parts.empty()) std::rethrow_exception(absent);
  return concatenate(std::move(parts));
}

}  // namespace

std::unique_ptr<DatasetPlan> make(const MixtureConfig& config, Plans parts) {
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (!parts[i]->make_samples) continue;
    throw base::ConfigError(fmt::format(
        "data.parts: part {}, {}, makes its samples by itself, which a mixture cannot take; leave "
        "it out",
        i + 1, config.parts[i].name));
  }
  auto plan = std::make_unique<DatasetPlan>(*parts.front());
  const auto plans = std::make_shared<const Plans>(std::move(parts));
  plan->open = [plans](Split split, const std::shared_ptr<const Storage>& storage,
                       const std::optional<std::string>& val_path) {
    if (val_path) refuse_val_path(config::Schema<MixtureConfig>::name);
    return open_parts(*plans, split, storage);
  };
  plan->check_place = [plans] {
    for (const auto& part : *plans) part->check_place();
  };
  return plan;
}

}  // namespace paceline::data

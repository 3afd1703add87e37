#include "paceline/app/prediction/told_images.h"

#include "paceline/base/error.h"

#include <algorithm>

namespace paceline::app {
namespace {

const at::Tensor& probabilities_of(const train::Predictions& predictions) {
  const at::Tensor* const found = predictions.fields.find("probabilities");
  if (found != nullptr && found->dim() == 2) return *found;
  throw base::ConfigError(
      fmt::format("this task gives out {}, and no probabilities of classes to be told: write them "
                  "to a folder by -o",
                  predictions.fields.names()));
}

/// What is wrong with a file, without its path.
std::string problem_of(const std::string& message, const std::string& path) {
  return message.starts_with(path + ": ") ? message.substr(path.size() + 2) : message;
}

}  // namespace

/// Batches follow one another, so what lies between two images that could be read could not.
void ToldImages::tell_skipped_before(std::int64_t index) {
  for (; next_ < index && !skipped_.empty(); skipped_.pop_back()) {
    const std::string path = dataset_.describe(next_);
    ++next_;
    request_.tell({path, {}, problem_of(skipped_.back(), path)}, next_, dataset_.size());
  }
}

void ToldImages::add(const train::Predictions& predictions) {
  skipped_.assign(predictions.skipped.rbegin(), predictions.skipped.rend());
  if (!predictions.fields.empty()) {
    const auto told = top_classes(probabilities_of(predictions), request_.num_told, class_names_);
    for (std::size_t row = 0; row < told.size(); ++row) {
      const std::int64_t index = predictions.indices[row];
      tell_skipped_before(index);
      next_ = index + 1;
      request_.tell({dataset_.describe(index), told[row], ""}, next_, dataset_.size());
    }
  }
  tell_skipped_before(dataset_.size());
}

}  // namespace paceline::app

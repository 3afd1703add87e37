#pragma once

#include "paceline/app/prediction/predict_run.h"
#include "paceline/data/dataset/dataset.h"
#include "paceline/train/predictor.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace paceline::app {

/// Makes of predictions, batch after batch, what PredictRequest::tell is called with.
class ToldImages {
 public:
  /// All must outlive it.
  ToldImages(const PredictRequest& request, const data::Dataset& dataset,
             std::span<const std::string> class_names)
      : request_(request), dataset_(dataset), class_names_(class_names) {}

  /// The next batch: also images that could not be read are told, in their places. Throws
  /// ConfigError if a task gives out no probabilities.
  void add(const train::Predictions& predictions);

 private:
  void tell_skipped_before(std::int64_t index);

  const PredictRequest& request_;
  const data::Dataset& dataset_;
  std::span<const std::string> class_names_;
  std::int64_t next_ = 0;             ///< the image to be told next
  std::vector<std::string> skipped_;  ///< of the batch, in order, the next at the end
};

}  // namespace paceline::app

#pragma once

#include "paceline/train/predictor.h"

#include <nlohmann/json.hpp>

namespace paceline::app {

/// Where predictions are written.
class PredictionSink {
 public:
  PredictionSink() = default;
  PredictionSink(const PredictionSink&) = delete;
  PredictionSink& operator=(const PredictionSink&) = delete;
  virtual ~PredictionSink() = default;

  /// The next samples. Throws FileError.
  virtual void add(const train::Predictions& predictions) = 0;
  /// Ends what has at least one sample; `facts` go into predictions.json beside what it says
  /// itself. Throws FileError.
  virtual void publish(nlohmann::json facts) = 0;
};

}  // namespace paceline::app

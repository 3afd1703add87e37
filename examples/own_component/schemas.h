// How recipes name the components and their options: `--help`, checks, reference and JSON Schema
// come from here.
#pragma once

#include "series.h"

template <>
struct paceline::config::Schema<own::SeriesConfig> {
  static constexpr std::string_view name = "series";
  static constexpr std::string_view summary = "Waves and what they weigh.";
  static constexpr auto fields = std::tuple{
      field(&own::SeriesConfig::num_samples, "num_samples", "How many there are.", AtLeast{1})};
};

template <>
struct paceline::config::Schema<own::LineConfig> {
  static constexpr std::string_view name = "line";
  static constexpr std::string_view summary = "One linear layer.";
  static constexpr auto fields =
      std::tuple{field(&own::LineConfig::doubled, "doubled", "Whether its output is doubled.")};
};

template <>
struct paceline::config::Schema<own::RegressionConfig> {
  static constexpr std::string_view name = "regression";
  static constexpr std::string_view summary = "Learns numbers by their square error.";
  static constexpr auto fields = std::tuple{};
};

template <>
struct paceline::config::Schema<own::ClampConfig> {
  static constexpr std::string_view name = "clamp";
  static constexpr std::string_view summary = "Keeps weights within a limit.";
  static constexpr auto fields =
      std::tuple{field(&own::ClampConfig::limit, "limit", "The largest weight.", MoreThan{0})};
};

template <>
struct paceline::config::Schema<own::LastLossConfig> {
  static constexpr std::string_view name = "last_loss";
  static constexpr std::string_view summary = "Writes the newest loss into a file.";
  static constexpr auto fields = std::tuple{
      field(&own::LastLossConfig::file, "file", "Its name in the run's folder.", NotEmpty{})};
};

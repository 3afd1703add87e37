#pragma once

#include "paceline/config/schema.h"

#include <string>

namespace paceline::data {

/// How data of other machines is read.
struct RemoteConfig {
  int connections = 64;
  int retries = 6;
  double timeout = 30;
  std::string cache = {};
  double cache_gb = 100;
};

}  // namespace paceline::data

template <>
struct paceline::config::Schema<paceline::data::RemoteConfig> {
  using Config = data::RemoteConfig;
  static constexpr std::string_view name = "remote";
  static constexpr std::string_view summary =
      "How data and weights that are not on this machine are read: s3://, gs://, https:// and hf: "
      "paths.";
  static constexpr std::string_view paper = "";
  static constexpr auto fields = std::tuple{
      field(&Config::connections, "connections", "Reads of a rank that are under way at once.",
            InRange{1, 1024}, MayChangeOnResume{}),
      field(&Config::retries, "retries",
            "How often a read that failed is tried again, each time after a longer pause.",
            InRange{0, 100}, MayChangeOnResume{}),
      field(&Config::timeout, "timeout", "Seconds without an answer after which a read has failed.",
            AtLeast{0.001}, AtMost{86400, "a day"}, MayChangeOnResume{}),
      field(&Config::cache, "cache",
            "A folder of this machine that keeps what was read, shared by its ranks and runs; "
            "empty: nothing is kept but copies of whole files, in ~/.cache/paceline.",
            Path{}, MayChangeOnResume{}),
      field(
          &Config::cache_gb, "cache_gb",
          "Size of the cache of ranges in GB; what was not used for longest goes first. Copies of "
          "whole files come on top.",
          AtLeast{0.001}, AtMost{1'000'000, "no disk is larger"}, MayChangeOnResume{})};
};

#pragma once

#include <map>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace paceline::checkpoint {

/// What an algorithm did to a network before its training. Weights mean the same only in a network
/// to which the same was done.
struct Surgery {
  std::string algorithm;  ///< its name
  std::string options;    ///< as resolved, YAML in flow style
  /// Names of the layers changed, by what they are: {"convolutions": {"layer2.0.conv2"}}.
  std::map<std::string, std::vector<std::string>> layers;
  bool operator==(const Surgery&) const = default;
};

/// In the order in which it was done; empty for a network that is as its model's name says.
using SurgeryRecord = std::vector<Surgery>;

/// For people: "blurpool: 6 convolutions (layer2.0.conv1, ...), 1 max_pools (maxpool)".
std::string describe(const Surgery& surgery);

/// A list of objects; surgery_from_json() reads it and throws nlohmann::json::exception for other
/// JSON.
nlohmann::ordered_json surgery_to_json(const SurgeryRecord& record);
SurgeryRecord surgery_from_json(const nlohmann::ordered_json& json);

}  // namespace paceline::checkpoint

#include "paceline/checkpoint/surgery.h"

#include "paceline/base/text.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace paceline::checkpoint {

std::string describe(const Surgery& surgery) {
  constexpr std::size_t kMost = 10;
  std::vector<std::string> parts;
  for (const auto& [kind, names] : surgery.layers)
    parts.push_back(fmt::format("{} {} ({})", names.size(), kind, base::join_first(names, kMost)));
  return fmt::format("{}: {}", surgery.algorithm, base::join(parts, ", "));
}

nlohmann::ordered_json surgery_to_json(const SurgeryRecord& record) {
  auto json = nlohmann::ordered_json::array();
  for (const Surgery& surgery : record) {
    json.push_back({{"algorithm", surgery.algorithm},
                    {"options", surgery.options},
                    {"layers", surgery.layers}});
  }
  return json;
}

SurgeryRecord surgery_from_json(const nlohmann::ordered_json& json) {
  SurgeryRecord record;
  for (const nlohmann::ordered_json& each : json) {
    Surgery& surgery = record.emplace_back();
    each.at("algorithm").get_to(surgery.algorithm);
    each.at("options").get_to(surgery.options);
    each.at("layers").get_to(surgery.layers);
  }
  return record;
}

}  // namespace paceline::checkpoint

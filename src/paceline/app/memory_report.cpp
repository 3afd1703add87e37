#include "paceline/app/memory_report.h"

#include "paceline/base/text.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace paceline::app {
namespace {

using Part = std::pair<std::string_view, std::uint64_t>;

std::array<Part, 7> parts_of(const MemoryEstimate& estimate) {
  return {{{"parameters", estimate.parameters},
           {"gradients", estimate.gradients},
           {"optimizer", estimate.optimizer},
           {"algorithms", estimate.algorithms},
           {"activations", estimate.activations},
           {"transient", estimate.transient},
           {"input", estimate.input}}};
}

}  // namespace

std::vector<std::string> memory_table(std::span<const MemoryEstimate> estimates) {
  std::string head = fmt::format("{:<9}{:>6}{:>9}", "strategy", "ranks", "samples");
  for (const auto& [name, bytes] : parts_of({})) head += fmt::format("{:>13}", name);
  std::vector<std::string> lines{head + fmt::format("{:>13}", "sum")};
  for (const MemoryEstimate& estimate : estimates) {
    std::string line = fmt::format("{:<9}{:>6}{:>9}", config::enum_name(estimate.strategy),
                                   estimate.batches.world_size, estimate.batches.microbatch());
    for (const auto& [name, bytes] : parts_of(estimate))
      line += fmt::format("{:>13}", base::format_bytes(bytes));
    lines.push_back(line + fmt::format("{:>13}", base::format_bytes(estimate.total())));
  }
  return lines;
}

std::string memory_json(std::span<const MemoryEstimate> estimates) {
  nlohmann::json rows = nlohmann::json::array();
  for (const MemoryEstimate& estimate : estimates) {
    nlohmann::json row = {{"strategy", config::enum_name(estimate.strategy)},
                          {"ranks", estimate.batches.world_size},
                          {"samples_per_microbatch", estimate.batches.microbatch()},
                          {"total", estimate.total()}};
    for (const auto& [name, bytes] : parts_of(estimate)) row[std::string(name)] = bytes;
    rows.push_back(std::move(row));
  }
  return nlohmann::json{{"strategies", rows}}.dump(2);
}

std::string describe_parts(const MemoryEstimate& estimate) {
  auto parts = parts_of(estimate);
  std::ranges::stable_sort(parts, std::ranges::greater(), &Part::second);
  std::string text;
  for (const auto& [name, bytes] : parts) {
    if (bytes == 0) continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, base::format_bytes(bytes));
  }
  return text;
}

}  // namespace paceline::app

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

std::string head_of_parts() {
  std::string head;
  for (const auto& [name, bytes] : parts_of({})) head += fmt::format("{:>13}", name);
  return head + fmt::format("{:>13}", "sum");
}

std::string row_of_parts(const MemoryEstimate& estimate) {
  std::string row;
  for (const auto& [name, bytes] : parts_of(estimate))
    row += fmt::format("{:>13}", base::format_bytes(bytes));
  return row + fmt::format("{:>13}", base::format_bytes(estimate.total()));
}

nlohmann::json json_of(const MemoryEstimate& estimate) {
  nlohmann::json row = {{"strategy", config::enum_name(estimate.strategy)},
                        {"ranks", estimate.batches.world_size},
                        {"samples_per_microbatch", estimate.batches.microbatch()},
                        {"total", estimate.total()}};
  for (const auto& [name, bytes] : parts_of(estimate)) row[std::string(name)] = bytes;
  return row;
}

std::string count_or_none(std::int64_t samples) {
  return samples > 0 ? std::to_string(samples) : "none";
}

/// Vendors' gigabytes, as publications have them.
std::string gigabytes(double bytes) { return fmt::format("{:.1f} GB", bytes / 1e9); }

std::vector<std::string> published_table(std::span<const MemoryFit> fits) {
  std::vector<std::string> lines;
  for (const MemoryFit& fit : fits) {
    if (!fit.published) continue;
    const train::PublishedTraining& said = *fit.published;
    if (lines.empty()) {
      lines.push_back("");
      lines.push_back(fmt::format("{:<12}{:>8}{:>13}{:>13}{:>19}{:>19}", said.source, "samples",
                                  "it says", "predicted", "samples/s, its", "a rank's measured"));
    }
    lines.push_back(fmt::format(
        "{:<{}}{:>8}{:>13}{:>13}{:>19.2f}{:>19}", fit.phase,
        std::max<std::size_t>(12, said.source.size()), said.batch_per_rank, gigabytes(said.bytes),
        gigabytes(static_cast<double>(fit.at_published_batch)), said.samples_per_second_and_rank(),
        fit.samples_per_second ? fmt::format("{:.2f}", *fit.samples_per_second) : "-"));
  }
  return lines;
}

}  // namespace

std::vector<std::string> memory_table(std::span<const MemoryEstimate> estimates) {
  std::vector<std::string> lines{
      fmt::format("{:<9}{:>6}{:>9}{}", "strategy", "ranks", "samples", head_of_parts())};
  for (const MemoryEstimate& estimate : estimates) {
    lines.push_back(fmt::format("{:<9}{:>6}{:>9}{}", config::enum_name(estimate.strategy),
                                estimate.batches.world_size, estimate.batches.microbatch(),
                                row_of_parts(estimate)));
  }
  return lines;
}

std::string memory_json(std::span<const MemoryEstimate> estimates) {
  nlohmann::json rows = nlohmann::json::array();
  for (const MemoryEstimate& estimate : estimates) rows.push_back(json_of(estimate));
  return nlohmann::json{{"strategies", rows}}.dump(2);
}

std::vector<std::string> fit_tables(std::span<const MemoryFit> fits, const MemoryDevice& device) {
  std::vector<std::string> lines{
      fmt::format("{}: {} of memory, {} of it for tensors", device.name,
                  base::format_bytes(device.bytes), base::format_bytes(device.usable_bytes())),
      fmt::format("{:<12}{:<9}{:>6}{:>9}{}", "phase", "strategy", "ranks", "samples",
                  head_of_parts())};
  for (const MemoryFit& fit : fits) {
    lines.push_back(fmt::format("{:<12}{:<9}{:>6}{:>9}{}", fit.phase,
                                config::enum_name(fit.need.strategy), fit.need.batches.world_size,
                                fit.need.batches.microbatch(), row_of_parts(fit.need)));
  }
  lines.push_back("");
  lines.push_back(fmt::format("{:<12}{:>14}{:>12}{:>15}{:>17}{:>17}", "phase", "a sample more",
                              "most fit", "checkpointed", "forward GFLOP", "backward GFLOP"));
  for (const MemoryFit& fit : fits) {
    lines.push_back(fmt::format("{:<12}{:>14}{:>12}{:>15}{:>17.1f}{:>17.1f}", fit.phase,
                                base::format_bytes(fit.per_sample), count_or_none(fit.largest),
                                count_or_none(fit.largest_again), fit.forward_flops / 1e9,
                                2 * fit.forward_flops / 1e9));
  }
  for (const std::string& line : published_table(fits)) lines.push_back(line);
  return lines;
}

std::string fit_json(std::span<const MemoryFit> fits, const MemoryDevice& device) {
  nlohmann::json phases = nlohmann::json::array();
  for (const MemoryFit& fit : fits) {
    nlohmann::json row = json_of(fit.need);
    row["phase"] = fit.phase;
    row["activations_per_sample"] = fit.per_sample;
    row["largest_microbatch"] = fit.largest;
    row["largest_microbatch_checkpointed"] = fit.largest_again;
    row["forward_flops_per_sample"] = fit.forward_flops;
    row["backward_flops_per_sample"] = 2 * fit.forward_flops;
    if (fit.samples_per_second) row["measured_samples_per_s_and_rank"] = *fit.samples_per_second;
    if (fit.published) {
      row["published"] = {{"source", fit.published->source},
                          {"samples_per_rank", fit.published->batch_per_rank},
                          {"bytes", fit.published->bytes},
                          {"predicted_bytes", fit.at_published_batch},
                          {"samples_per_s_and_rank", fit.published->samples_per_second_and_rank()}};
    }
    phases.push_back(std::move(row));
  }
  return nlohmann::json{
      {"device",
       {{"name", device.name}, {"bytes", device.bytes}, {"usable_bytes", device.usable_bytes()}}},
      {"phases", phases}}
      .dump(2);
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

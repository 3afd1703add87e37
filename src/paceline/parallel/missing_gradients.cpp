#include "paceline/parallel/missing_gradients.h"

#include "paceline/base/error.h"
#include "paceline/parallel/named_tensors.h"

#include <map>
#include <span>
#include <sstream>

#include <fmt/ranges.h>

namespace paceline::parallel {
namespace {

using Ranks = std::vector<int>;

/// The names that each set of ranks misses.
std::map<Ranks, std::vector<std::string>> by_ranks(std::span<const std::string> lists) {
  std::map<std::string, Ranks> ranks_of;
  for (std::size_t rank = 0; rank < lists.size(); ++rank) {
    std::istringstream lines(lists[rank]);
    for (std::string name; std::getline(lines, name);) {
      ranks_of[name].push_back(static_cast<int>(rank));
    }
  }
  std::map<Ranks, std::vector<std::string>> names_of;
  for (const auto& [name, ranks] : ranks_of) names_of[ranks].push_back(name);
  return names_of;
}

std::string to_text(const Ranks& ranks, std::size_t world_size) {
  if (ranks.size() == world_size) return world_size == 1 ? "" : " on any rank";
  return fmt::format(" on rank{} {}", ranks.size() == 1 ? "" : "s", fmt::join(ranks, ", "));
}

}  // namespace

void refuse_missing_gradients(const MissingGradients& missing, comm::Communicator* communicator) {
  const GradientDemand& demand = missing.demand;
  const std::string own = fmt::format("{}", fmt::join(missing.names, "\n"));
  const std::vector<std::string> lists =
      communicator == nullptr ? std::vector{own} : communicator->all_gather_text(own);
  std::vector<std::string> parts;
  for (const auto& [ranks, names] : by_ranks(lists)) {
    parts.push_back(list_names(names) + to_text(ranks, lists.size()));
  }
  PACELINE_CHECK(!parts.empty(), "gradients are missing, and no rank knows which");
  const std::string broken = fmt::format("{}", fmt::join(parts, ", "));
  if (demand.as_in_first_step) {
    throw base::ConfigError(
        fmt::format("unlike in the first step, a gradient reached, or none reached, {}; "
                    "parallel.{}.static_graph is for models whose every step uses the same "
                    "parameters: switch it off",
                    broken, demand.section));
  }
  throw base::ConfigError(
      fmt::format("no gradient reached {}; freeze what the loss does not depend on, or set "
                  "parallel.{}.allow_unused_parameters",
                  broken, demand.section));
}

}  // namespace paceline::parallel

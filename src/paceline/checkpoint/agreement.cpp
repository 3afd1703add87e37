#include "paceline/checkpoint/agreement.h"

#include "paceline/base/error.h"

#include <algorithm>
#include <exception>
#include <string>
#include <vector>

namespace paceline::checkpoint {
namespace {

/// One cause that all ranks share is told once.
std::string describe(const std::vector<std::string>& problems) {
  const bool is_same =
      std::all_of(problems.begin(), problems.end(),
                  [&](const std::string& problem) { return problem == problems[0]; });
  if (is_same) return problems[0];
  std::string text;
  for (std::size_t rank = 0; rank < problems.size(); ++rank) {
    if (problems[rank].empty()) continue;
    text += fmt::format("{}rank {}: {}", text.empty() ? "" : "; ", rank, problems[rank]);
  }
  return text;
}

}  // namespace

void on_all_ranks(comm::Communicator& communicator, std::string_view what,
                  const std::function<void()>& work) {
  std::string problem;
  try {
    work();
  } catch (const std::exception& error) {
    problem = *error.what() == '\0' ? "unknown error" : error.what();
  }
  const std::vector<std::string> problems = communicator.all_gather_text(problem);
  const bool has_failed = std::any_of(problems.begin(), problems.end(),
                                      [](const std::string& text) { return !text.empty(); });
  if (has_failed) throw base::CheckpointError(fmt::format("{}: {}", what, describe(problems)));
}

}  // namespace paceline::checkpoint

#include "paceline/checkpoint/agreement.h"

#include "paceline/base/error.h"
#include "paceline/comm/agreement.h"

#include <algorithm>
#include <exception>
#include <functional>
#include <string>
#include <vector>

namespace paceline::checkpoint {
namespace {

/// Comes before what a rank says whose state is not finite.
const std::string kDiverged = "diverged ";

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
  } catch (const base::DivergedError& error) {
    problem = kDiverged + error.what();
  } catch (const std::exception& error) {
    problem = *error.what() == '\0' ? "unknown error" : error.what();
  }
  std::vector<std::string> problems = comm::texts_if_any(communicator, problem);
  if (problems.empty()) return;
  const auto num_failed = std::ranges::count_if(problems, std::not_fn(&std::string::empty));
  const auto num_diverged = std::ranges::count_if(problems, [](std::string& text) {
    const bool is_mark = text.starts_with(kDiverged);
    if (is_mark) text.erase(0, kDiverged.size());
    return is_mark;
  });
  const std::string message = fmt::format("{}: {}", what, describe(problems));
  if (num_diverged == num_failed) throw base::DivergedError(message);
  throw base::CheckpointError(message);
}

}  // namespace paceline::checkpoint

#include "paceline/launch/outcome.h"

#include "paceline/base/error.h"

#include <algorithm>
#include <cstring>

#include <sys/wait.h>

namespace paceline::launch {
namespace {

constexpr int kCommCode = static_cast<int>(base::ExitCode::kComm);

/// The first end that `is_failure` accepts; one that only lost a peer gives way to any other.
template <typename IsFailure>
std::optional<std::size_t> find_culprit(std::span<const RankEnd> ends, IsFailure is_failure) {
  std::optional<std::size_t> consequence;
  for (std::size_t index = 0; index < ends.size(); ++index) {
    if (!is_failure(ends[index])) continue;
    if (exit_code_of_status(ends[index].status) != kCommCode) return index;
    if (!consequence) consequence = index;
  }
  return consequence;
}

}  // namespace

int exit_code_of_status(int status) {
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

std::string describe_status(int status) {
  if (!WIFSIGNALED(status)) return fmt::format("exit code {}", WEXITSTATUS(status));
  const char* name = sigabbrev_np(WTERMSIG(status));
  return fmt::format("killed by {}{} (signal {})", name == nullptr ? "" : "SIG",
                     name == nullptr ? "an unnamed signal" : name, WTERMSIG(status));
}

Outcome decide_outcome(std::span<const RankEnd> ends, std::span<const int> signals) {
  const auto is_stopped = [&](int code) {
    return std::ranges::any_of(signals, [&](int signal) { return code == 128 + signal; });
  };
  const auto culprit = find_culprit(ends, [&](const RankEnd& end) {
    const int code = exit_code_of_status(end.status);
    return code != 0 && !is_stopped(code) && !end.told_to_stop && !end.killed;
  });
  if (culprit) return {exit_code_of_status(ends[*culprit].status), culprit};
  int stopped_code = 0;
  for (const RankEnd& end : ends) {
    const int code = exit_code_of_status(end.status);
    if (is_stopped(code)) return {code, std::nullopt};
    if (code != 0 && !signals.empty()) stopped_code = 128 + signals.front();
  }
  return {stopped_code, std::nullopt};
}

}  // namespace paceline::launch

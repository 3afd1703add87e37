#include "paceline/comm/agreement.h"

#include "paceline/base/error.h"
#include "paceline/base/file_status.h"
#include "paceline/base/json.h"
#include "paceline/tensor/aten.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <future>
#include <set>
#include <vector>

#include <nlohmann/json.hpp>

namespace paceline::comm {
namespace {

using Facts = std::map<std::string, std::string>;

std::string value_of(const Facts& facts, const std::string& key) {
  const auto found = facts.find(key);
  return found == facts.end() ? "nothing" : "'" + found->second + "'";
}

std::vector<std::string> differences(const std::vector<Facts>& facts_of_ranks) {
  std::vector<std::string> lines;
  const Facts& first = facts_of_ranks.front();
  for (std::size_t rank = 1; rank < facts_of_ranks.size(); ++rank) {
    const Facts& other = facts_of_ranks[rank];
    std::set<std::string> keys;
    for (const Facts* facts : {&first, &other}) {
      for (const auto& [key, value] : *facts) {
        keys.insert(key);
      }
    }
    for (const std::string& key : keys) {
      const std::string expected = value_of(first, key);
      const std::string got = value_of(other, key);
      if (expected != got) {
        lines.push_back(fmt::format("{}: rank {} has {}, rank 0 has {}", key, rank, got, expected));
      }
    }
  }
  return lines;
}

/// Shorter than any time-out that a recipe may set.
constexpr std::chrono::milliseconds kSignOfLife{200};

/// "EXIT-CODE TEXT", so that no rank waits for one that failed.
std::string outcome_of(const std::function<std::string()>& decide) {
  try {
    return "0 " + decide();
  } catch (const base::Error& error) {
    return fmt::format("{} {}", static_cast<int>(error.exit_code()), error.what());
  } catch (const std::filesystem::filesystem_error& error) {
    const base::FileError told = base::file_error_of(error);
    return fmt::format("{} {}", static_cast<int>(told.exit_code()), told.what());
  } catch (const std::exception& error) {
    return fmt::format("{} {}", static_cast<int>(base::ExitCode::kInternal), error.what());
  }
}

}  // namespace

void agree(Communicator& communicator, const Facts& facts) {
  std::vector<Facts> facts_of_ranks;
  for (const std::string& text : communicator.all_gather_text(nlohmann::json(facts).dump())) {
    facts_of_ranks.push_back(base::parse_json(text).get<Facts>());
  }
  const std::vector<std::string> lines = differences(facts_of_ranks);
  if (lines.empty()) {
    return;
  }
  constexpr std::size_t kMaxShown = 10;
  std::string message =
      "the ranks do not run the same thing; start all of them with the same program, recipe and "
      "data:";
  for (std::size_t i = 0; i < std::min(lines.size(), kMaxShown); ++i) {
    message += "\n  " + lines[i];
  }
  if (lines.size() > kMaxShown) {
    message += fmt::format("\n  and {} more differences", lines.size() - kMaxShown);
  }
  throw base::ConfigError(message);
}

std::string first_rank_decides(Communicator& communicator,
                               const std::function<std::string()>& decide) {
  std::future<std::string> decision;
  if (communicator.rank() == 0)
    decision = std::async(std::launch::async, [&] { return outcome_of(decide); });
  std::string answer;
  while (answer.empty()) {  // the others learn now and then that rank 0 is still at it
    if (decision.valid() && decision.wait_for(kSignOfLife) == std::future_status::ready)
      answer = decision.get();
    answer = communicator.all_gather_text(answer).front();
  }
  const std::size_t space = answer.find(' ');
  const auto code = static_cast<base::ExitCode>(std::stoi(answer.substr(0, space)));
  const std::string text = answer.substr(space + 1);
  if (code != base::ExitCode::kOk) throw base::Error(code, text);
  return text;
}

bool any_rank(Communicator& communicator, bool own) {
  if (communicator.world_size() == 1) return own;
  const at::Tensor flag = at::full({1}, own ? 1.0 : 0.0, at::kDouble);
  communicator.all_reduce(flag, ReduceOp::kMax)->wait();
  return *flag.const_data_ptr<double>() != 0;
}

std::int64_t max_over_ranks(Communicator& communicator, std::int64_t value) {
  std::int64_t largest = value;
  for (const std::string& text : communicator.all_gather_text(std::to_string(value)))
    largest = std::max<std::int64_t>(largest, std::stoll(text));
  return largest;
}

}  // namespace paceline::comm

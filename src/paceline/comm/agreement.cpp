#include "paceline/comm/agreement.h"

#include "paceline/base/error.h"
#include "paceline/base/file_status.h"
#include "paceline/base/hash.h"
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

/// What outcome_of() made a text of; throws what failed.
std::string text_of_outcome(const std::string& outcome) {
  const std::size_t space = outcome.find(' ');
  const auto code = static_cast<base::ExitCode>(std::stoi(outcome.substr(0, space)));
  std::string text = outcome.substr(space + 1);
  if (code != base::ExitCode::kOk) throw base::Error(code, text);
  return text;
}

/// Rank 0's text on every rank.
std::string broadcast_text(Communicator& communicator, const std::string& text) {
  const at::Tensor length = at::full({1}, std::ssize(text), at::kLong);
  communicator.broadcast(length, 0, "length of a text")->wait();
  const at::Tensor bytes = at::empty({*length.const_data_ptr<std::int64_t>()}, at::kByte);
  if (bytes.numel() == 0) return {};
  auto* const data = static_cast<char*>(bytes.mutable_data_ptr());
  if (communicator.rank() == 0) std::ranges::copy(text, data);
  communicator.broadcast(bytes, 0, "a text")->wait();
  return {data, static_cast<std::size_t>(bytes.numel())};
}

}  // namespace

// By a hash of 64 bits: the largest of it and of its complement are those of each rank.
bool is_same_on_all_ranks(Communicator& communicator, const std::string& text) {
  if (communicator.world_size() == 1) return true;
  const auto hash = static_cast<std::int64_t>(base::xxh3(text));
  const at::Tensor both = at::tensor({hash, ~hash}, at::kLong);
  communicator.all_reduce(both, ReduceOp::kMax, "a hash of what ranks must agree on")->wait();
  const auto* largest = both.const_data_ptr<std::int64_t>();
  return largest[0] == ~largest[1];
}

void agree(Communicator& communicator, const Facts& facts) {
  const std::string own = nlohmann::json(facts).dump();
  if (is_same_on_all_ranks(communicator, own)) return;
  std::vector<Facts> facts_of_ranks;
  for (const std::string& text : communicator.all_gather_text(own)) {
    facts_of_ranks.push_back(base::parse_json(text).get<Facts>());
  }
  const std::vector<std::string> lines = differences(facts_of_ranks);
  PACELINE_CHECK(!lines.empty(), "the ranks' facts have other hashes, and do not differ");
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
    answer = broadcast_text(communicator, answer);
  }
  return text_of_outcome(answer);
}

std::string first_of_place_decides(Communicator& communicator, const std::string& place,
                                   const std::function<std::string()>& decide) {
  const std::vector<std::string> places = communicator.all_gather_text(place);
  const auto first = static_cast<std::size_t>(std::ranges::find(places, place) - places.begin());
  std::future<std::string> decision;
  if (static_cast<std::size_t>(communicator.rank()) == first)
    decision = std::async(std::launch::async, [&] { return outcome_of(decide); });
  std::string outcome;
  const auto is_at_it = [&] {
    if (!decision.valid()) return false;
    if (decision.wait_for(kSignOfLife) != std::future_status::ready) return true;
    outcome = decision.get();
    return false;
  };
  while (any_rank(communicator, is_at_it())) {
  }
  const std::vector<std::string> outcomes = communicator.all_gather_text(outcome);
  for (const std::string& other : outcomes)
    if (!other.empty()) text_of_outcome(other);  // the first that failed speaks for all
  return text_of_outcome(outcomes[first]);
}

std::int64_t max_over_ranks(Communicator& communicator, std::int64_t value) {
  if (communicator.world_size() == 1) return value;
  const at::Tensor largest = at::full({1}, value, at::kLong);
  communicator.all_reduce(largest, ReduceOp::kMax, "a largest number")->wait();
  return *largest.const_data_ptr<std::int64_t>();
}

bool any_rank(Communicator& communicator, bool own) {
  return max_over_ranks(communicator, own ? 1 : 0) != 0;
}

std::vector<std::string> texts_if_any(Communicator& communicator, const std::string& text) {
  if (!any_rank(communicator, !text.empty())) return {};
  return communicator.all_gather_text(text);
}

}  // namespace paceline::comm

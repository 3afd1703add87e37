#include "paceline/comm/c10d/roll_call.h"

#include "paceline/base/error.h"
#include "paceline/base/json.h"

#include <algorithm>
#include <cstdint>
#include <map>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace paceline::comm {
namespace {

constexpr int kNoAnswer = -1;

/// The last collectives. Of those before the last one nobody asks whether they are done, and ranks
/// would differ in it.
std::string end_of(const CollectiveHistory& history, std::size_t kept) {
  const auto count = static_cast<std::ptrdiff_t>(std::min(kept, history.size()));
  CollectiveHistory end(history.end() - count, history.end());
  for (CollectiveRecord& record : end) record.is_done = record.is_done || &record != &end.back();
  return to_json(end);
}

std::string write(const RollCall& call, std::size_t kept) {
  std::vector<std::string> texts;
  std::map<std::string, int> places;
  std::vector<int> place_of_rank;
  for (const auto& history : call.histories) {
    if (!history) {
      place_of_rank.push_back(kNoAnswer);
      continue;
    }
    const auto [place, is_new] = places.try_emplace(end_of(*history, kept), std::ssize(texts));
    if (is_new) texts.push_back(place->first);
    place_of_rank.push_back(place->second);
  }
  const nlohmann::json json{
      {"histories", texts}, {"of_rank", place_of_rank}, {"unreadable", call.unreadable}};
  return json.dump();
}

}  // namespace

std::string to_json(const RollCall& call, std::size_t longest) {
  std::size_t kept = FlightRecorder::kCapacity;
  std::string text = write(call, kept);
  while (text.size() > longest && kept > 1) text = write(call, kept /= 2);
  return text;
}

RollCall roll_call_from_json(const std::string& json, int world_size) {
  constexpr std::size_t kLongestText = 2 << 20;
  try {
    const nlohmann::json parsed = base::parse_json(json, kLongestText);
    std::vector<CollectiveHistory> histories;
    for (const auto& text : parsed.at("histories")) {
      histories.push_back(history_from_json(text.get<std::string>()));
    }
    RollCall call{.histories = {}, .unreadable = parsed.at("unreadable").get<std::vector<int>>()};
    for (const auto& place : parsed.at("of_rank")) {
      const int index = place.get<int>();
      if (index == kNoAnswer) {
        call.histories.emplace_back();
      } else {
        call.histories.emplace_back(histories.at(static_cast<std::size_t>(index)));
      }
    }
    PACELINE_CHECK(std::ssize(call.histories) == world_size, "of {} ranks, not {}",
                   call.histories.size(), world_size);
    return call;
  } catch (const std::exception& error) {
    throw base::CommError(fmt::format("not what the ranks are at: {}", error.what()));
  }
}

}  // namespace paceline::comm

#include "paceline/config/problems.h"

#include "paceline/base/error.h"
#include "paceline/base/text.h"

#include <algorithm>

#include <fmt/format.h>

namespace paceline::config {

void Problems::add(std::string_view field, std::string text) {
  Position position;
  if (section_ != nullptr) {
    const Node* value = field.empty() ? nullptr : section_->find_path(field);
    position = value != nullptr ? value->position : section_->position;
  }
  const std::string key = field.empty() ? path_ : join_path(path_, field);
  problems_.push_back({std::move(position), key, std::move(text)});
}

void Problems::add(Problem problem) { problems_.push_back(std::move(problem)); }

std::string Problems::message() const {
  std::string message;
  if (problems_.size() > 1) {
    message = fmt::format("{} problems in the configuration:", problems_.size());
  }
  constexpr std::size_t kMostShown = 30;
  constexpr std::size_t kLongestKey = 120;
  for (std::size_t i = 0; i < std::min(problems_.size(), kMostShown); ++i) {
    const Problem& problem = problems_[i];
    if (problems_.size() > 1) message += "\n  ";
    const std::string place = problem.position.to_string();
    if (!place.empty()) message += place + ": ";
    if (!problem.key.empty()) message += base::excerpt(problem.key, kLongestKey) + ": ";
    message += problem.text;
  }
  if (problems_.size() > kMostShown) {
    message += fmt::format("\n  and {} more", problems_.size() - kMostShown);
  }
  return message;
}

void Problems::throw_if_any() const {
  if (!problems_.empty()) throw base::ConfigError(message());
}

void Problems::enter(std::string path, const Node* section) {
  path_ = std::move(path);
  section_ = section;
}

}  // namespace paceline::config

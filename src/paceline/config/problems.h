#pragma once

#include "paceline/config/node.h"

#include <string>
#include <string_view>
#include <vector>

namespace paceline::config {

/// One thing that is wrong with a configuration.
struct Problem {
  Position position;  ///< empty source: the value was not written anywhere
  std::string key;    ///< full path, such as "optimizer.lr"; may be empty
  std::string text;   ///< what was expected, what was got, the cure
};

/// Collects everything that is wrong, so that the user sees all of it at once.
class Problems {
 public:
  /// Reports a problem with a field of the section at hand. For Schema<T>::validate: `field` is the
  /// field's name in T ("" for the section itself); its position is looked up.
  void add(std::string_view field, std::string text);
  void add(Problem problem);

  bool empty() const { return problems_.empty(); }
  std::size_t size() const { return problems_.size(); }
  const std::vector<Problem>& all() const { return problems_; }

  /// All problems as one message, in the order in which they were added.
  std::string message() const;
  /// Throws ConfigError with that message unless empty.
  void throw_if_any() const;

  /// Says which section add(field, ...) speaks of; `section` may be null and must outlive its use.
  void enter(std::string path, const Node* section);

 private:
  std::vector<Problem> problems_;
  std::string path_;
  const Node* section_ = nullptr;
};

}  // namespace paceline::config

#pragma once

#include "paceline/config/node.h"
#include "paceline/config/problems.h"

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace paceline::app {

/// A section of a guide's document, which is read key by key. What nobody has asked for in the end
/// is a problem, so that no key is without effect in silence; `description` and names that begin
/// with `_comment` are for people. A key whose value is null counts as absent.
class GuideSection {
 public:
  /// `node` null: a section without keys. Both must outlive this.
  GuideSection(const config::Node* node, std::string path, config::Problems& problems);

  /// The value of a key, which may have several spellings; nullptr if there is none. Two spellings
  /// at once are a problem.
  const config::Node* take(std::initializer_list<std::string_view> spellings);
  const config::Node* take(std::string_view key) { return take({key}); }
  /// Nothing also for what is not true or false, which is a problem.
  std::optional<bool> take_flag(std::string_view key);
  /// Nothing also for what is no whole number of at least `least`, which is a problem.
  std::optional<std::int64_t> take_count(std::initializer_list<std::string_view> spellings,
                                         std::int64_t least = 1);
  GuideSection take_section(std::string_view key);

  /// A problem with the value of a key.
  void refuse(std::string_view key, std::string text);
  /// All keys must have been taken.
  void end();

  const std::string& path() const { return path_; }
  config::Problems& problems() { return problems_; }

 private:
  const config::Node* node_;
  std::string path_;
  config::Problems& problems_;
  std::vector<std::string> taken_;  ///< spellings that are known
};

/// Whether the text of a scalar is such a number.
std::optional<double> guide_number(const config::Node& node);

/// Puts a value under a path such as "train.duration" of a recipe; sections on the way are made.
void put(config::Node& recipe, std::string_view path, config::Node value);
/// A scalar that stands where `source` does.
config::Node scalar_at(const config::Node& source, std::string text);

}  // namespace paceline::app

#include "paceline/app/recipe/foreign_table.h"

#include <set>
#include <string_view>
#include <utility>

#include <gtest/gtest.h>

namespace paceline::app {
namespace {

TEST(ForeignTable, IsSound) {
  std::set<std::pair<std::string_view, GivenValue>> rows;
  std::set<std::string_view> complete;  // no later row of theirs would be read
  for (const ForeignName& entry : foreign_names()) {
    EXPECT_TRUE(rows.emplace(entry.name, entry.when).second) << entry.name << " stands there twice";
    EXPECT_FALSE(complete.contains(entry.name)) << entry.name;
    if (entry.when == GivenValue::kAny) complete.insert(entry.name);
    EXPECT_FALSE(entry.key.empty() && entry.remark.empty()) << entry.name << " has no answer";
    for (char c : entry.name)
      EXPECT_TRUE((c >= 'a' && c <= 'z') || c == '_' || (c >= '0' && c <= '9')) << entry.name;
  }
}

}  // namespace
}  // namespace paceline::app

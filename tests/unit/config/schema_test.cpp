#include "paceline/config/schema.h"

#include "paceline/config/registry.h"

#include <gtest/gtest.h>

namespace paceline::config {
namespace {

enum class Mode { kMin, kMax };

struct InnerConfig {
  std::string path;
  std::optional<double> clip;
  std::optional<std::string> label;
};

struct AllTypesConfig {
  bool is_on = true;
  int count = 3;
  std::int64_t big = 5'000'000'000;
  double lr = 1e-4;
  std::string name = "a b";
  std::optional<int> limit;
  std::vector<double> betas = {0.9, 0.999};
  std::array<double, 3> mean = {0.485, 0.456, 0.406};
  std::map<std::string, int> sizes = {{"x", 1}};
  Mode mode = Mode::kMax;
  Duration duration = {90, TimeUnit::kEpoch};
  DurationList stops = {{{5, TimeUnit::kEpoch}, {9000, TimeUnit::kSecond}}};
  InnerConfig inner;
  std::vector<InnerConfig> inners;
  Component optimizer = {"sgd"};
  ComponentMap algorithms;
};

}  // namespace

template <>
struct EnumNames<Mode> {
  static constexpr std::array names{EnumName{Mode::kMin, "min"}, EnumName{Mode::kMax, "max"}};
};

template <>
struct Schema<InnerConfig> {
  static constexpr std::string_view name = "inner";
  static constexpr std::string_view summary = "An inner section.";
  static constexpr auto fields =
      std::tuple{field(&InnerConfig::path, "path", "Where.", Required{}, NotEmpty{}),
                 field(&InnerConfig::clip, "clip", "Limit.", MoreThan{0}),
                 field(&InnerConfig::label, "label", "Label.", OneOf{"a", "b"})};
};

template <>
struct Schema<AllTypesConfig> {
  static constexpr std::string_view name = "all_types";
  static constexpr std::string_view summary = "One field of each type.";
  static constexpr std::string_view paper = "Nobody, 2026";
  static constexpr auto fields =
      std::tuple{field(&AllTypesConfig::is_on, "is_on", "Switch.", MayChangeOnResume{}),
                 field(&AllTypesConfig::count, "count", "Count.", AtLeast{1}, AtMost{9}),
                 field(&AllTypesConfig::big, "big", "Big."),
                 field(&AllTypesConfig::lr, "lr", "Learning rate.", InRange{0, 1}),
                 field(&AllTypesConfig::name, "name", "Name."),
                 field(&AllTypesConfig::limit, "limit", "Limit."),
                 field(&AllTypesConfig::betas, "betas", "Decays.", LessThan{1}),
                 field(&AllTypesConfig::mean, "mean", "Mean."),
                 field(&AllTypesConfig::sizes, "sizes", "Sizes."),
                 field(&AllTypesConfig::mode, "mode", "Which way."),
                 field(&AllTypesConfig::duration, "duration", "How long."),
                 field(&AllTypesConfig::stops, "stops", "First of."),
                 field(&AllTypesConfig::inner, "inner", "Inner."),
                 field(&AllTypesConfig::inners, "inners", "Inners."),
                 component(&AllTypesConfig::optimizer, "optimizer", "Optimizer."),
                 component_map(&AllTypesConfig::algorithms, "algorithms", "Algorithms.")};
};

namespace {

TEST(Schema, CountsEveryMember) {
  EXPECT_EQ(detail::count_members<InnerConfig>(), 3u);
  EXPECT_EQ(detail::count_members<AllTypesConfig>(), 16u);
}

TEST(Schema, WritesDefaults) {
  const AllTypesConfig config;
  EXPECT_EQ(to_yaml(to_node(describe<AllTypesConfig>(), &config)), R"(is_on: true
count: 3
big: 5000000000
lr: 0.0001
name: a b
limit: null
betas: [0.9, 0.999]
mean: [0.485, 0.456, 0.406]
sizes:
  x: 1
mode: max
duration: 90ep
stops: [5ep, 2h30m]
inner:
  path: ""
  clip: null
  label: null
inners: []
optimizer:
  name: sgd
algorithms: {}
)");
}

}  // namespace
}  // namespace paceline::config

#include "paceline/config/type_info.h"

#include "paceline/config/write.h"
#include "unit/config/test_recipe.h"

#include <gtest/gtest.h>

namespace paceline::config {
namespace {

// What reading `yaml` as a T gives when it is written again, or the complaint.
template <class T>
std::string through(const char* yaml) {
  T value{};
  const auto type = TypeOf<T>::make("");
  if (auto complaint = type->read(parse_yaml(yaml, "r"), &value)) return *complaint;
  return to_flow_yaml(to_node(*type, &value));
}

TEST(TypeInfo, Numbers) {
  EXPECT_EQ(through<double>("1e-4"), "0.0001");
  EXPECT_EQ(through<double>("+1_000.5"), "1000.5");
  EXPECT_EQ(through<double>(".5"), "0.5");
  EXPECT_EQ(through<double>("-.inf"), "-.inf");
  EXPECT_EQ(through<double>("0.1"), "0.1");
  EXPECT_EQ(through<double>("1e400"), "must be a number, got '1e400'");
  EXPECT_EQ(through<double>("inf"), "must be a number, got 'inf'");
  EXPECT_EQ(through<double>("1,5"), "must be a number, got '1,5'");
}

TEST(TypeInfo, Integers) {
  EXPECT_EQ(through<int>("1.2e6"), "1200000");
  EXPECT_EQ(through<int>("-7"), "-7");
  EXPECT_EQ(through<std::int64_t>("9223372036854775807"), "9223372036854775807");
  EXPECT_EQ(through<std::int64_t>("1e19"), "must be an integer, got '1e19'");
  EXPECT_EQ(through<std::uint64_t>("-1"),
            "must be an integer between 0 and 9223372036854775807, got '-1'");
  EXPECT_EQ(through<std::uint8_t>("256"), "must be an integer between 0 and 255, got '256'");
  EXPECT_EQ(through<int>("[1]"), "must be an integer, got the list [1]");
}

TEST(TypeInfo, ChoicesAndDurations) {
  EXPECT_EQ(through<test::Precision>("bf16"), "bf16");
  EXPECT_EQ(through<test::Precision>("[]"), "must be one of fp32, bf16, got the list []");
  EXPECT_EQ(through<Duration>("90ep"), "90ep");
  EXPECT_EQ(through<Duration>("[90ep]"), "must be a duration such as 90ep, got the list [90ep]");
  EXPECT_EQ(through<DurationList>("90ep"), "90ep");
  EXPECT_EQ(through<Sides>("224"), "224");
  EXPECT_EQ(through<Sides>("[96, 128]"), "[96, 128]");
  EXPECT_EQ(through<DurationList>("[90ep, 1h]"), "[90ep, 1h]");
  EXPECT_EQ(through<DurationList>("[]"), "[]");
  EXPECT_EQ(enum_name(test::Precision::kBf16), "bf16");
  EXPECT_THROW(enum_name(static_cast<test::Precision>(9)), base::InternalError);
}

TEST(TypeInfo, NamesForPeople) {
  EXPECT_EQ((TypeOf<std::optional<std::vector<double>>>::make("")->name), "list of number or null");
  EXPECT_EQ((TypeOf<std::array<double, 3>>::make("")->name), "list of 3 x number");
  EXPECT_EQ((TypeOf<std::map<std::string, int>>::make("")->name), "map of name to integer");
  EXPECT_EQ(TypeOf<test::Precision>::make("")->name, "fp32 | bf16");
}

}  // namespace
}  // namespace paceline::config

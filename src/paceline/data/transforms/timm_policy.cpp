#include "paceline/data/transforms/timm_policy.h"

#include "paceline/base/error.h"
#include "paceline/base/text.h"
#include "paceline/data/transforms/timm_augment.h"

#include <charconv>
#include <cmath>

namespace paceline::data {
namespace {

[[noreturn]] void refuse(const std::string& part, std::string_view why) {
  throw base::ConfigError(fmt::format("'{}': {}", base::excerpt(part), why));
}

double number_of(const std::string& part, std::string_view digits) {
  double value = 0;
  const char* const end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, value, std::chars_format::fixed);
  if (error != std::errc() || stop != end || value > 1e6) refuse(part, "no number is at its end");
  return value;
}

int whole_number_of(const std::string& part, std::string_view digits) {
  const double value = number_of(part, digits);
  if (value != std::floor(value)) refuse(part, "takes a whole number");
  return static_cast<int>(value);
}

void take(const std::string& part, TimmPolicy& policy) {
  if (part.starts_with('t')) {
    policy.ops = part.substr(1);
    if (policy.ops.empty() || timm_ops(policy.ops, false).empty())
      refuse(part, "the sets of operations are tweights, t3a and t3aw");
    return;
  }
  const std::size_t digits = std::min(part.find_first_of("0123456789"), part.size());
  const std::string key = part.substr(0, digits);
  const std::string_view value = std::string_view(part).substr(digits);
  if (key == "m") {
    policy.magnitude = whole_number_of(part, value);
  } else if (key == "n") {
    policy.num_ops = whole_number_of(part, value);
  } else if (key == "p") {
    policy.probability = number_of(part, value);
    if (policy.probability > 1) refuse(part, "a probability is at most 1");
  } else if (key == "mstd") {
    policy.deviation = number_of(part, value);
    if (policy.deviation > 100) policy.deviation = TimmPolicy::kUniform;
  } else if (key == "mmax") {
    policy.highest = whole_number_of(part, value);
  } else if (key == "inc") {
    policy.increasing = whole_number_of(part, value) != 0;
  } else {
    refuse(part, "known are m9, n2, p0.5, mstd0.5, mmax10, inc1 and tweights");
  }
}

}  // namespace

TimmPolicy parse_timm_policy(std::string_view text) {
  const std::vector<std::string> parts = base::split(text, '-');
  if (parts[0] != "rand") refuse(parts[0], "a policy begins with rand, as rand-m9-mstd0.5-inc1");
  TimmPolicy policy;
  for (std::size_t i = 1; i < parts.size(); ++i) take(parts[i], policy);
  if (policy.highest == 0) policy.highest = 10;
  const bool has_weights = policy.ops == "weights" || policy.ops == "3aw";
  const std::size_t num_ops = timm_ops(policy.ops, policy.increasing).size();
  if (policy.num_ops > 100) refuse("n" + std::to_string(policy.num_ops), "at most 100 operations");
  if (has_weights && static_cast<std::size_t>(policy.num_ops) > num_ops)
    refuse("n" + std::to_string(policy.num_ops),
           fmt::format("t{} has {} operations, and takes none twice", policy.ops, num_ops));
  return policy;
}

}  // namespace paceline::data

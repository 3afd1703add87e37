#pragma once

#include <algorithm>
#include <cmath>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace paceline::test {

/// Tells docs/parity.md how far a quantity of a component is from the reference's, in the unit that
/// its name says: of all that a program's tests note, the largest. Any thread may call it.
inline void note_difference(const std::string& component, const std::string& quantity,
                            double difference) {
  static std::mutex mutex;
  static std::map<std::pair<std::string, std::string>, double> largest;
  const std::scoped_lock lock(mutex);
  double& value = largest.try_emplace({component, quantity}, 0.0).first->second;
  value = std::max(value, difference);
  ::testing::Test::RecordProperty(fmt::format("parity|{}|{}", component, quantity),
                                  fmt::format("{:.1e}", value));
}

/// Expects a reference's number but for a share of it, or of 1 where it is smaller, and notes the
/// difference as such a share.
inline void expect_reference(const std::string& component, const std::string& quantity, double got,
                             double wanted, double tolerance) {
  const double scale = std::max(1.0, std::abs(wanted));
  EXPECT_NEAR(got, wanted, tolerance * scale) << component << ": " << quantity;
  note_difference(component, quantity, std::abs(got - wanted) / scale);
}

}  // namespace paceline::test

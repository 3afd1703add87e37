#pragma once

#include "paceline/data/dataset/dataset.h"

#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

namespace paceline::test {

/// Expects the same samples, read with hints and without.
inline void expect_same_samples(const data::Dataset& actual, const data::Dataset& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  EXPECT_EQ(actual.class_names(), expected.class_names());
  EXPECT_EQ(actual.fingerprint(), expected.fingerprint());
  std::vector<std::int64_t> indices;
  for (std::int64_t i = actual.size() - 1; i >= 0; --i) indices.push_back(i);
  for (const bool with_hint : {true, false}) {
    if (with_hint) actual.will_read(indices);
    for (const std::int64_t i : indices) {
      data::StoredSample sample;
      data::StoredSample wanted;
      actual.get(i, sample);
      expected.get(i, wanted);
      EXPECT_EQ(sample.bytes, wanted.bytes) << i;
      EXPECT_EQ(sample.label, wanted.label) << i;
      EXPECT_EQ(sample.width, wanted.width) << i;
      EXPECT_EQ(actual.name(i), expected.name(i)) << i;
    }
  }
}

}  // namespace paceline::test

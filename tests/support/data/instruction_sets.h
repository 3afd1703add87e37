#pragma once

#include <cstdint>

#include <gtest/gtest.h>
#include <hwy/targets.h>

namespace paceline::data {

/// Runs `body` once for each instruction set that vector code is compiled for and the processor
/// has.
template <class Body>
void for_each_instruction_set(const Body& body) {
  const auto choose = [](std::int64_t targets) {
    hwy::SetSupportedTargetsForTest(targets);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  };
  const std::int64_t available = hwy::SupportedTargets();
  for (const std::int64_t target :
       {std::int64_t{HWY_AVX2}, std::int64_t{HWY_AVX3}, std::int64_t{HWY_AVX3_DL}, available}) {
    if ((available & target) == 0) continue;
    choose(target & available);
    const testing::ScopedTrace trace(__FILE__, __LINE__, hwy::TargetName(target));
    body();
  }
  choose(0);
}

}  // namespace paceline::data

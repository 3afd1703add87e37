#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <hwy/targets.h>

namespace paceline::data {

/// Lets Highway's dispatcher choose this instruction set, or the best one below it that the code is
/// compiled for, until it is gone.
class ChosenInstructionSet {
 public:
  /// The lower the bit, the more the instruction set has.
  explicit ChosenInstructionSet(std::int64_t target) {
    choose(hwy::SupportedTargets() & ~(target - 1));
  }
  ~ChosenInstructionSet() { choose(0); }
  ChosenInstructionSet(const ChosenInstructionSet&) = delete;
  ChosenInstructionSet& operator=(const ChosenInstructionSet&) = delete;

 private:
  static void choose(std::int64_t targets) {
    hwy::SetSupportedTargetsForTest(targets);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  }
};

/// Those that vector code may be compiled for and this processor has.
inline std::vector<std::int64_t> instruction_sets() {
  std::vector<std::int64_t> sets;
  for (const std::int64_t target :
       {std::int64_t{HWY_AVX2}, std::int64_t{HWY_AVX3}, std::int64_t{HWY_AVX3_DL}}) {
    if ((hwy::SupportedTargets() & target) != 0) sets.push_back(target);
  }
  return sets;
}

/// For INSTANTIATE_TEST_SUITE_P.
inline std::string instruction_set_name(const testing::TestParamInfo<std::int64_t>& info) {
  return hwy::TargetName(info.param);
}

/// Runs `body` once for each of them.
template <class Body>
void for_each_instruction_set(const Body& body) {
  for (const std::int64_t target : instruction_sets()) {
    const ChosenInstructionSet chosen(target);
    const testing::ScopedTrace trace(__FILE__, __LINE__, hwy::TargetName(target));
    body();
  }
}

}  // namespace paceline::data

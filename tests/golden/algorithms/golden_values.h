#pragma once

#include "paceline/tensor/aten.h"
#include "support/parity.h"

#include <fstream>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace paceline::algorithms {

/// A list of a golden file, by value: a loop over a member of a temporary would see nothing.
inline nlohmann::json golden_list(const std::string& file, const char* list) {
  const nlohmann::json golden =
      nlohmann::json::parse(std::ifstream(PACELINE_GOLDEN_DIR "/" + file));
  EXPECT_FALSE(golden.at(list).empty());
  return golden.at(list);
}

/// Of all elements; `component` and `quantity` name a row of the page of parity.
inline void expect_golden_values(const std::string& component, const char* quantity,
                                 const at::Tensor& got, const nlohmann::json& wanted,
                                 double tolerance) {
  const at::Tensor flat = got.detach().reshape({-1}).to(at::kDouble);
  ASSERT_EQ(flat.numel(), std::ssize(wanted)) << quantity;
  for (std::int64_t i = 0; i < flat.numel(); ++i) {
    paceline::test::expect_reference(component, quantity, flat[i].item<double>(),
                                     wanted[static_cast<std::size_t>(i)].get<double>(), tolerance);
  }
}

}  // namespace paceline::algorithms

#include "paceline/nn/pass_memory/shape_tape.h"

#include <gtest/gtest.h>

namespace paceline::nn {
namespace {

using Gradients = ShapeTape::Gradients;

/// An operation that keeps its input and makes as much.
Shaped kept_operation(ShapeTape& tape, const Shaped& x) {
  return tape.record(
      tape.take(x.values, x.width), {x},
      [&tape, x](Shaped) { return Gradients{tape.take(x.values, x.width)}; },
      /*has_parameters=*/true);
}

TEST(ShapeTape, CountsWhatIsHeldAndTheMostOfIt) {
  ShapeTape tape;
  {
    const Shaped first = tape.take(100, 4);
    const Shaped view = first;
    { const Shaped second = tape.take(1, 2); }
    EXPECT_EQ(tape.held(), 448) << "rounded up to 64 bytes";
  }
  EXPECT_EQ(tape.held(), 0);
  EXPECT_EQ(tape.peak(), 448 + 64);
}

TEST(ShapeTape, BackwardFreesWhatWasKept) {
  ShapeTape tape;
  {
    Shaped x = tape.take(64, 1);
    for (int i = 0; i < 3; ++i) x = kept_operation(tape, x);
    EXPECT_EQ(tape.held(), 4 * 64) << "the input of each operation, and the last result";
    tape.backward(x, tape.take(64, 1), 0);
    EXPECT_EQ(tape.held(), 64) << "the result";
  }
  EXPECT_EQ(tape.held(), 0);
  EXPECT_EQ(tape.peak(), 6 * 64) << "all, the first gradient and the next";
}

TEST(ShapeTape, WhatNeedsNoGradientKeepsNothing) {
  ShapeTape tape;
  const Shaped x = tape.take(64, 1);
  const auto plain = [&](const Shaped& input) {
    return tape.record(tape.take(64, 1), {input}, [input](Shaped grad) { return Gradients{grad}; });
  };
  EXPECT_FALSE(plain(x).wants_gradient());
  EXPECT_TRUE(plain(kept_operation(tape, x)).wants_gradient());
  tape.set_recording(false);
  EXPECT_FALSE(kept_operation(tape, x).wants_gradient());
}

TEST(ShapeTape, GradientsOfOneTensorAreAddedInPlaceIfNobodyElseSeesThem) {
  for (const bool is_shared : {false, true}) {
    ShapeTape tape;
    const Shaped input = tape.take(64, 1);
    const Shaped x = tape.leaf(input);
    const auto since = tape.position();
    const Shaped y = tape.record(tape.take(64, 1), {x, x}, [&](Shaped grad) {
      return is_shared ? Gradients{grad, grad} : Gradients{tape.take(64, 1), tape.take(64, 1)};
    });
    tape.backward(y, tape.take(64, 1), since);
    EXPECT_EQ(tape.gradient_of(x).values, 64);
    EXPECT_EQ(tape.peak(), (is_shared ? 4 : 5) * 64);
  }
}

TEST(ShapeTape, AGradientIsCastToTheTypeOfItsTensor) {
  ShapeTape tape;
  const Shaped x = tape.leaf(tape.take(64, 4));
  const Shaped y = tape.record(tape.take(64, 2), {x}, [&](Shaped grad) { return Gradients{grad}; });
  tape.backward(y, tape.take(64, 2), 0);
  EXPECT_EQ(tape.gradient_of(x).width, 4);
}

}  // namespace
}  // namespace paceline::nn

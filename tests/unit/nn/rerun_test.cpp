#include "paceline/nn/rerun.h"

#include "paceline/base/error.h"

#include <gtest/gtest.h>

namespace paceline::nn {
namespace {

/// Counts its calls and returns the number.
class Counter {
 public:
  double next() {
    const auto tensors =
        Rerun::once([this] { return Rerun::Tensors{at::full({}, static_cast<double>(++calls_))}; });
    return tensors[0].item<double>();
  }

 private:
  int calls_ = 0;
};

TEST(Rerun, WithoutARunEverythingIsComputed) {
  Counter counter;
  EXPECT_EQ(counter.next(), 1);
  EXPECT_EQ(counter.next(), 2);
  EXPECT_FALSE(Rerun::is_repeating());
}

TEST(Rerun, LaterRunsTakeTheFirstOnesResultsInOrder) {
  Counter counter;
  Rerun rerun;
  for (int run = 0; run < 3; ++run) {
    const Rerun::Scope scope(rerun);
    EXPECT_EQ(Rerun::is_repeating(), run > 0);
    EXPECT_EQ(counter.next(), 1);
    EXPECT_EQ(counter.next(), 2);
  }
  EXPECT_EQ(counter.next(), 3);
}

TEST(Rerun, MoreThanTheFirstRunDidIsAnError) {
  Counter counter;
  Rerun rerun;
  { const Rerun::Scope first(rerun); }
  const Rerun::Scope second(rerun);
  EXPECT_THROW(counter.next(), base::InternalError);
}

TEST(Rerun, InnerRunsHaveResultsOfTheirOwn) {
  Counter counter;
  Rerun outer;
  const Rerun::Scope outer_scope(outer);
  EXPECT_EQ(counter.next(), 1);
  Rerun inner;
  for (int run = 0; run < 2; ++run) {
    const Rerun::Scope inner_scope(inner);
    EXPECT_EQ(counter.next(), 2);
  }
  EXPECT_FALSE(Rerun::is_repeating());
  EXPECT_EQ(counter.next(), 3);
}

}  // namespace
}  // namespace paceline::nn

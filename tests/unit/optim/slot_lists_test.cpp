#include "paceline/optim/slot_lists.h"

#include "paceline/base/error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::optim {
namespace {

TEST(SlotLists, SplitByGroupAndDtype) {
  const auto slot = [](at::ScalarType dtype) {
    return ParamSlot{at::zeros({2}, dtype), at::zeros({2}, dtype)};
  };
  const std::vector<ParamGroup> groups{
      {.name = "a", .slots = {slot(at::kFloat), slot(at::kDouble), slot(at::kFloat)}},
      {.name = "empty"},
      {.name = "b", .slots = {slot(at::kFloat)}}};
  const std::vector<SlotList> lists = make_slot_lists(groups);
  ASSERT_EQ(lists.size(), 3U);
  EXPECT_EQ(lists[0].slots, (std::vector<std::size_t>{0, 2}));
  EXPECT_EQ(lists[1].slots, (std::vector<std::size_t>{1}));
  EXPECT_EQ(lists[2].slots, (std::vector<std::size_t>{3}));
  EXPECT_EQ(lists[2].group, 2U);
}

TEST(SlotLists, RefuseAGradientInAnotherMemoryFormat) {
  const at::Tensor param = at::zeros({2, 3, 4, 4}).contiguous(at::MemoryFormat::ChannelsLast);
  const std::vector<ParamGroup> groups{
      {.name = "decay", .slots = {{param, at::zeros({2, 3, 4, 4})}}}};
  EXPECT_THAT([&] { make_slot_lists(groups); },
              testing::ThrowsMessage<base::InternalError>(testing::HasSubstr("'decay'")));
}

TEST(SlotLists, RefuseMemoryWithGaps) {
  const at::Tensor gaps = at::zeros({4, 4}).narrow(1, 0, 2);
  EXPECT_THROW(make_slot_lists({{.name = "decay", .slots = {{gaps, gaps}}}}), base::InternalError);
}

}  // namespace
}  // namespace paceline::optim

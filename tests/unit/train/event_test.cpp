#include "paceline/train/event.h"

#include <gtest/gtest.h>

namespace paceline::train {
namespace {

TEST(EventSet, ContainsWhatItWasGiven) {
  const EventSet events{Event::kInit, Event::kException};
  EXPECT_TRUE(events.contains(Event::kInit));
  EXPECT_TRUE(events.contains(Event::kException));
  EXPECT_FALSE(events.contains(Event::kStepEnd));
}

TEST(Event, AfterEventsCloseWhatBeforeEventsOpen) {
  EXPECT_TRUE(is_after_event(Event::kAfterForward));
  EXPECT_FALSE(is_after_event(Event::kBeforeForward));
  EXPECT_TRUE(is_after_event(Event::kStepEnd));
  EXPECT_FALSE(is_after_event(Event::kStepStart));
}

}  // namespace
}  // namespace paceline::train

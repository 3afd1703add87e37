#include "paceline/comm/c10d/run_store.h"

#include "paceline/base/error.h"

#include <cstdint>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/distributed/c10d/HashStore.hpp>

namespace paceline::comm {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

constexpr std::chrono::milliseconds kSoon{50};

/// What a stranger sees and writes, and a run's view of it.
struct Shared {
  c10::intrusive_ptr<c10d::HashStore> open = c10::make_intrusive<c10d::HashStore>();
  c10::intrusive_ptr<RunStore> run = c10::make_intrusive<RunStore>(open, "an id");
  Shared() { open->setTimeout(kSoon); }
};

TEST(RunStore, GivesBackWhatTheRunHasWritten) {
  const Shared store;
  store.run->set("join/world_size", std::string("4"));
  EXPECT_TRUE(store.run->check({"join/world_size"}));
  EXPECT_FALSE(store.run->check({"join/count"}));
  EXPECT_EQ(store.run->get_to_str("join/world_size"), "4");
  EXPECT_EQ(store.run->clone()->get_to_str("join/world_size"), "4");
  EXPECT_EQ(store.run->add("join/count", 2), 2);
  EXPECT_EQ(store.run->add("join/count", 1), 3);
  store.run->set("empty", std::string());
  EXPECT_EQ(store.run->get_to_str("empty"), "");
  store.run->wait({"empty"}, kSoon);
  EXPECT_TRUE(store.run->deleteKey("empty"));
  EXPECT_ANY_THROW(store.run->wait({"empty"}, kSoon));
}

TEST(RunStore, ManyKeysInOneOperationAreSealedEach) {
  const Shared store;
  const std::vector<std::string> keys{"a", "b"};
  store.run->multiSet(keys, {{'1'}, {'2', '3'}});
  EXPECT_EQ(store.run->get_to_str("b"), "23");
  EXPECT_EQ(store.run->multiGet(keys), (std::vector<std::vector<std::uint8_t>>{{'1'}, {'2', '3'}}));
  const std::vector<std::uint8_t> genuine = store.open->get(store.open->listKeys().front());
  for (const std::string& name : store.open->listKeys()) store.open->set(name, genuine);
  EXPECT_THROW(store.run->multiGet(keys), base::CommError) << "a value that was moved";
  EXPECT_TRUE(store.run->hasExtendedApi());
  EXPECT_THROW(store.run->append("a", {'2'}), base::InternalError);
}

TEST(RunStore, RunsOnOneStoreDoNotMix) {
  const Shared store;
  const auto other = c10::make_intrusive<RunStore>(store.open, "another id");
  store.run->set("key", std::string("value"));
  EXPECT_FALSE(other->check({"key"}));
}

TEST(RunStore, TheListOfKeysTellsNothing) {
  const Shared store;
  store.run->set("join/world_size", std::string("4"));
  for (const std::string& name : store.open->listKeys()) {
    EXPECT_EQ(name.find("an id"), std::string::npos) << name;
    EXPECT_EQ(name.find("join"), std::string::npos) << name;
  }
}

TEST(RunStore, RefusesWhatAStrangerHasWritten) {
  const Shared store;
  store.run->set("join/world_size", std::string("4"));
  const std::vector<std::string> names = store.open->listKeys();
  ASSERT_EQ(names.size(), 1U);
  const std::vector<std::uint8_t> genuine = store.open->get(names[0]);
  for (const std::string& forged :
       {std::string(), std::string("2"), std::string(32, '0') + "2", std::string(1 << 21, 'x')}) {
    store.open->set(names[0], std::vector<std::uint8_t>(forged.begin(), forged.end()));
    EXPECT_THAT([&] { store.run->get("join/world_size"); },
                ThrowsMessage<base::CommError>(HasSubstr("'join/world_size' in the ranks' store")));
  }
  store.run->set("other", std::string("5"));
  for (const std::string& name : store.open->listKeys()) store.open->set(name, genuine);
  EXPECT_EQ(store.run->get_to_str("join/world_size"), "4");
  EXPECT_THROW(store.run->get("other"), base::CommError) << "a value that was moved";
}

}  // namespace
}  // namespace paceline::comm

#include "paceline/comm/c10d/store_query.h"

#include "support/counting_store.h"

#include <bit>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/distributed/c10d/HashStore.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

namespace paceline::comm {
namespace {

using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> numbered(int count) {
  std::vector<std::string> keys;
  for (int i = 0; i < count; ++i) keys.push_back(std::to_string(i));
  return keys;
}

c10::intrusive_ptr<c10d::TCPStore> served_store() {
  c10d::TCPStoreOptions options;
  options.port = 0;
  options.isServer = true;
  options.waitWorkers = false;
  return c10::make_intrusive<c10d::TCPStore>("127.0.0.1", options);
}

TEST(StoreQuery, AKeyComesOrDoesNotAndTheStoreWorksOn) {
  const std::vector<c10::intrusive_ptr<c10d::Store>> stores{c10::make_intrusive<c10d::HashStore>(),
                                                            served_store()};
  for (const auto& store : stores) {
    EXPECT_FALSE(await_key(*store, "key", milliseconds(30)));
    EXPECT_FALSE(await_key(*store, "key", milliseconds(-5))) << "the time was over before";
    store->set("key", std::string("value"));
    EXPECT_TRUE(await_key(*store, "key", milliseconds(30)));
    EXPECT_EQ(store->get_to_str("key"), "value");
  }
}

TEST(StoreQuery, AStoreThatIsGoneIsNoKeyThatIsLate) {
  auto server = served_store();
  c10d::TCPStoreOptions options;
  options.port = server->getPort();
  options.waitWorkers = false;
  const auto client = c10::make_intrusive<c10d::TCPStore>("127.0.0.1", options);
  server.reset();
  EXPECT_ANY_THROW(await_key(*client, "key", std::chrono::seconds(20)));
}

TEST(StoreQuery, FindsWhatIsMissing) {
  for (const auto& missing : std::vector<std::vector<std::size_t>>{
           {}, {0}, {12}, {5, 6}, {0, 3, 11}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}}) {
    const c10::intrusive_ptr<c10d::Store> store = c10::make_intrusive<c10d::HashStore>();
    for (std::size_t i = 0; i < 13; ++i) {
      if (std::ranges::find(missing, i) == missing.end())
        store->set(std::to_string(i), std::string("here"));
    }
    EXPECT_EQ(missing_keys(*store, numbered(13)), missing);
  }
  EXPECT_THAT(missing_keys(*c10::make_intrusive<c10d::HashStore>(), {}), IsEmpty());
}

TEST(StoreQuery, ASearchForOneOfManyAsksForFew) {
  constexpr int kKeys = 1000;
  test::CountedStores stores(1);
  const auto store = stores.of(0);
  const std::vector<std::string> keys = numbered(kKeys);
  for (const std::string& key : keys) {
    if (key != "617") store->set(key, std::string("here"));
  }
  stores.start_anew();
  EXPECT_THAT(missing_keys(*store, keys), ElementsAre(617));
  EXPECT_LE(stores.operations(), 2 * std::bit_width(unsigned{kKeys}) + 1);
}

}  // namespace
}  // namespace paceline::comm

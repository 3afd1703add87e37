#include "paceline/data/parquet/parquet_page_cache.h"

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace paceline::data {
namespace {

using Key = ParquetPageCache::Key;

DecodedParquetPage page_of(std::size_t num_bytes, bool has_places) {
  DecodedParquetPage page;
  page.num_bytes = num_bytes;
  if (has_places) page.places = std::make_shared<ParquetPlaces>();
  return page;
}

ParquetPageCache::Page add(ParquetPageCache& cache, const Key& key, std::size_t num_bytes,
                           bool has_places = false) {
  return cache.get(key, [&] { return page_of(num_bytes, has_places); });
}

TEST(ParquetPageCache, KeepsThePagesUsedLast) {
  ParquetPageCache cache(100);
  const auto first = add(cache, {0, 4}, 40);
  add(cache, {0, 8}, 40);
  EXPECT_EQ(cache.get({0, 4}, [&]() -> DecodedParquetPage { throw std::logic_error("again"); }),
            first);
  add(cache, {1, 4}, 40);
  EXPECT_EQ(cache.find({0, 4}).page, first);
  EXPECT_EQ(cache.find({0, 8}).page, nullptr);
  EXPECT_NE(cache.find({1, 4}).page, nullptr);
  add(cache, {2, 4}, 1000);  // the last one always
  EXPECT_EQ(cache.find({0, 4}).page, nullptr);
  EXPECT_EQ(cache.find({1, 4}).page, nullptr);
  EXPECT_NE(cache.find({2, 4}).page, nullptr);
}

TEST(ParquetPageCache, RemembersPlacesOfPagesThatAreGone) {
  ParquetPageCache cache(0);
  const auto page = add(cache, {0, 4}, 10, true);
  EXPECT_EQ(cache.find({0, 8}).places, nullptr);
  add(cache, {0, 8}, 10);
  EXPECT_EQ(cache.find({0, 4}).page, nullptr);
  EXPECT_EQ(cache.find({0, 4}).places, page->places);
  EXPECT_EQ(cache.find({0, 8}).places, nullptr);
}

TEST(ParquetPageCache, TriesAgainAfterAnError) {
  ParquetPageCache cache(100);
  EXPECT_THROW(cache.get({0, 4}, []() -> DecodedParquetPage { throw std::runtime_error("x"); }),
               std::runtime_error);
  EXPECT_EQ(cache.find({0, 4}).page, nullptr);
  EXPECT_NE(add(cache, {0, 4}, 10), nullptr);
}

TEST(ParquetPageCache, AThreadThatWaitedForAnErrorStoresItsPage) {
  ParquetPageCache cache(100);
  std::atomic<bool> is_failing = false;
  std::thread failing([&] {
    EXPECT_THROW(cache.get({0, 4},
                           [&]() -> DecodedParquetPage {
                             is_failing = true;
                             std::this_thread::sleep_for(std::chrono::milliseconds(50));
                             throw std::runtime_error("x");
                           }),
                 std::runtime_error);
  });
  while (!is_failing) std::this_thread::yield();
  const auto page = add(cache, {0, 4}, 60);
  failing.join();
  EXPECT_EQ(cache.find({0, 4}).page, page);
  add(cache, {0, 8}, 60);  // in its place, as the bytes are counted
  EXPECT_EQ(cache.find({0, 4}).page, nullptr);
  add(cache, {0, 12}, 40);
  EXPECT_NE(cache.find({0, 8}).page, nullptr);
}

TEST(ParquetPageCache, DecodesAPageOnceForAllThreads) {
  ParquetPageCache cache(1'000'000);
  std::atomic<int> decoded = 0;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 8; ++thread) {
    threads.emplace_back([&] {
      for (std::uint64_t page = 0; page < 50; ++page) {
        cache.get({0, page}, [&] {
          ++decoded;
          std::this_thread::yield();
          return page_of(1, true);
        });
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(decoded, 50);
}

}  // namespace
}  // namespace paceline::data

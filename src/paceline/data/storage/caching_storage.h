#pragma once

#include "paceline/data/storage/byte_cache.h"
#include "paceline/data/storage/storage.h"

#include <atomic>
#include <cstdint>
#include <memory>

namespace paceline::data {

/// What a cache came to, over all threads.
struct CacheCounts {
  std::atomic<std::int64_t> hits = 0;
  std::atomic<std::int64_t> misses = 0;
};

/// Keeps what is read by read() and read_parts(), range by range, so that the same ranges come from
/// the cache the next time; a file that has another size or version is another file. Of files whose
/// version is not known (FileFacts::changed is 0) nothing is kept.
std::shared_ptr<const Storage> keep_in_cache(std::shared_ptr<const Storage> storage,
                                             std::shared_ptr<ByteCache> cache,
                                             std::shared_ptr<CacheCounts> counts);

}  // namespace paceline::data

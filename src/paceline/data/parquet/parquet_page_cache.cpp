#include "paceline/data/parquet/parquet_page_cache.h"

#include <algorithm>

namespace paceline::data {

std::shared_ptr<ParquetPageCache::Entry> ParquetPageCache::touch(const Key& key) {
  const auto found =
      std::ranges::find_if(recent_, [&](const auto& one) { return one->key == key; });
  if (found == recent_.end()) return nullptr;
  recent_.splice(recent_.begin(), recent_, found);
  return recent_.front();
}

void ParquetPageCache::keep(Entry& entry, Page page) {
  if (page->places != nullptr) places_.emplace(entry.key, page->places);
  num_bytes_ += page->num_bytes;
  entry.page = std::move(page);
  for (auto last = recent_.end(); num_bytes_ > max_bytes_ && last != recent_.begin();) {
    --last;
    if (last->get() == &entry || (*last)->page == nullptr) continue;
    num_bytes_ -= (*last)->page->num_bytes;
    last = recent_.erase(last);
  }
}

void ParquetPageCache::drop(Entry& entry) {
  entry.is_dropped = true;
  std::erase_if(recent_, [&](const auto& one) { return one.get() == &entry; });
}

ParquetPageCache::Found ParquetPageCache::find(const Key& key) {
  const std::lock_guard lock(mutex_);
  Found found;
  if (const auto entry = touch(key)) {
    found.page = entry->page;
    found.is_coming = true;
  }
  if (const auto places = places_.find(key); places != places_.end()) found.places = places->second;
  return found;
}

ParquetPageCache::Page ParquetPageCache::get(const Key& key,
                                             const std::function<DecodedParquetPage()>& decode) {
  while (true) {
    const std::shared_ptr<Entry> entry = find_or_add(key);
    const std::lock_guard decoding(entry->decoding);
    {
      const std::lock_guard lock(mutex_);
      if (entry->page != nullptr) return entry->page;
      if (entry->is_dropped) continue;  // another thread failed to decode it meanwhile
    }
    return decode_into(*entry, decode);
  }
}

std::shared_ptr<ParquetPageCache::Entry> ParquetPageCache::find_or_add(const Key& key) {
  const std::lock_guard lock(mutex_);
  if (auto entry = touch(key)) return entry;
  recent_.push_front(std::make_shared<Entry>());
  recent_.front()->key = key;
  return recent_.front();
}

ParquetPageCache::Page ParquetPageCache::decode_into(
    Entry& entry, const std::function<DecodedParquetPage()>& decode) {
  try {
    auto page = std::make_shared<const DecodedParquetPage>(decode());
    const std::lock_guard lock(mutex_);
    keep(entry, page);
    return page;
  } catch (...) {
    const std::lock_guard lock(mutex_);
    drop(entry);
    throw;
  }
}

}  // namespace paceline::data

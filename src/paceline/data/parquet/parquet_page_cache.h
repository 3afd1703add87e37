#pragma once

#include "paceline/data/remote/parquet_file.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

namespace paceline::data {

/// Keeps the pages that were used last, up to a number of bytes but always the last one, and of all
/// pages ever seen how their values are read alone. Thread-safe; threads that want the same page
/// wait for the one that decodes it.
class ParquetPageCache {
 public:
  using Page = std::shared_ptr<const DecodedParquetPage>;
  using Places = std::shared_ptr<const ParquetPlaces>;
  /// A file and the place of a page in it.
  using Key = std::pair<std::uint32_t, std::uint64_t>;

  explicit ParquetPageCache(std::size_t max_bytes) : max_bytes_(max_bytes) {}

  struct Found {
    Page page;               ///< if it is in memory
    Places places;           ///< how its values are read alone, if that is known
    bool is_coming = false;  ///< another thread decodes it, or it is in memory
  };
  Found find(const Key& key);

  /// The page in memory, if need be by `decode()`, whose exceptions it passes on.
  Page get(const Key& key, const std::function<DecodedParquetPage()>& decode);

 private:
  struct Entry {
    Key key;
    std::mutex decoding;  ///< held meanwhile
    Page page;            ///< nullptr until then; guarded by mutex_, as the next
    bool is_dropped = false;
  };
  std::shared_ptr<Entry> find_or_add(const Key& key);
  /// With the entry's `decoding` held.
  Page decode_into(Entry& entry, const std::function<DecodedParquetPage()>& decode);

  /// The entry moved to the front; nullptr if there is none. With mutex_ held, as those below.
  std::shared_ptr<Entry> touch(const Key& key);
  void keep(Entry& entry, Page page);
  void drop(Entry& entry);

  std::size_t max_bytes_;
  std::mutex mutex_;
  std::size_t num_bytes_ = 0;                 ///< of the pages in `recent_`
  std::list<std::shared_ptr<Entry>> recent_;  ///< used last first; few, so it is searched
  std::map<Key, Places> places_;
};

}  // namespace paceline::data

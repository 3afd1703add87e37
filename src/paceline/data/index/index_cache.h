#pragma once

#include "paceline/data/storage/storage.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace paceline::data {

/// Where the index `name` of the data in `folder` may be kept, best first: folder/.paceline-<name>
/// .index, and for folders that are remote or cannot be written the user's cache. A '/' in the name
/// counts as '-'.
std::vector<std::filesystem::path> index_files(const std::filesystem::path& folder,
                                               const std::string& name);

/// Writes an index under a temporary name and renames it, making the folders on the way. False if
/// that is not possible.
bool save_index(const std::filesystem::path& file, std::string_view bytes);

/// Removes those that are there, so that nobody takes an old one for a new one. Throws DataError.
void remove_indices(const std::vector<std::filesystem::path>& files);

/// What changed at this time or later (as FileFacts counts it) is so young that a further change
/// might not alter its time.
std::int64_t stable_before();

/// Lets one process of a machine make an index, or a copy, while the others wait for it. A process
/// that ends, however it does, lets go.
class IndexTurn {
 public:
  /// `files` are those of index_files(), or the copy's folder. Waits while another process (or
  /// thread) has its turn, and says so in the log now and then. Throws Interrupted, if `storage`
  /// says so.
  IndexTurn(const std::vector<std::filesystem::path>& files, const Storage& storage);
  IndexTurn(const IndexTurn&) = delete;
  IndexTurn& operator=(const IndexTurn&) = delete;
  ~IndexTurn();

  /// Whether another one was first, which may have left an index. The turn is over then: should it
  /// have left none, all who waited make one, side by side.
  bool has_waited() const { return has_waited_; }
  /// Says in the log what was made, if that took long.
  void tell(std::int64_t num_samples) const;

 private:
  std::string name_;
  std::filesystem::path lock_;
  int descriptor_ = -1;
  bool has_waited_ = false;
  double start_s_ = 0;
};

/// The index that `make()` makes of what may change without a trace: nothing that was saved before
/// is taken. But of the processes of a machine that come at once, one makes it, and the others take
/// it with `load(file)`.
template <class Load, class Make>
auto make_once(const std::vector<std::filesystem::path>& files, const Storage& storage, Load load,
               Make make) {
  const IndexTurn turn(files, storage);
  if (turn.has_waited()) {
    for (const std::filesystem::path& file : files) {
      if (auto index = load(file)) return *std::move(index);
    }
  } else {
    remove_indices(files);
  }
  auto index = make();
  turn.tell(index.size());
  std::any_of(files.begin(), files.end(), [&](const auto& file) { return index.save(file); });
  return index;
}

/// The index that `load(file)` finds in one of the files, or the one that `make()` makes, saved in
/// the first file where that works. Where none can be written, the next start makes it again. Of
/// the processes of a machine that come at once, one makes it.
template <class Load, class Make>
auto load_or_make(const std::vector<std::filesystem::path>& files, const Storage& storage,
                  Load load, Make make) {
  for (const std::filesystem::path& file : files) {
    if (auto index = load(file)) return *std::move(index);
  }
  const IndexTurn turn(files, storage);
  if (turn.has_waited()) {
    for (const std::filesystem::path& file : files) {
      if (auto index = load(file)) return *std::move(index);
    }
  }
  auto index = make();
  turn.tell(index.size());
  if (index.is_stable()) {
    std::any_of(files.begin(), files.end(), [&](const auto& file) { return index.save(file); });
  }
  return index;
}

}  // namespace paceline::data

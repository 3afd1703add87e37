#include "paceline/data/sources/local_copy.h"

#include "paceline/base/error.h"
#include "paceline/base/hash.h"
#include "paceline/data/index/index_cache.h"
#include "paceline/data/storage/cache_folder.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace paceline::data {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kPieceBytes = std::uint64_t{4} << 20;

/// Beside each copy: what its original was.
fs::path note_of(const fs::path& copy) { return copy.string() + ".origin"; }

std::string text_of(const FileFacts& facts) {
  return fmt::format("{} {}\n", facts.size, facts.changed);
}

bool is_current(const fs::path& copy, const FileFacts& facts) {
  if (facts.changed == 0) return false;  // a server that does not say
  std::error_code error;
  if (fs::file_size(copy, error) != facts.size || error) return false;
  try {
    return base::read_file(note_of(copy)) == text_of(facts);
  } catch (const base::FileError&) {
    return false;  // an unfinished copy is made again
  }
}

void write_content(const Storage& storage, const std::string& path, const FileFacts& facts,
                   base::OutputFile& output) {
  const auto file = storage.open_known(path, facts);
  const int num_at_once = std::clamp(storage.num_connections(), 1, 16);
  std::vector<std::uint8_t> bytes;
  for (std::uint64_t begin = 0; begin < facts.size; begin += bytes.size()) {
    bytes.resize(
        std::min(facts.size - begin, static_cast<std::uint64_t>(num_at_once) * kPieceBytes));
    read_in_pieces(*file, begin, bytes, kPieceBytes, num_at_once);
    output.write({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  }
  output.sync();  // before the note says that it is whole
  output.close();
}

void copy_file(const Storage& storage, const std::string& path, const FileFacts& facts,
               const fs::path& copy, base::FileSystem& files) {
  const fs::path unfinished = base::unfinished_path(copy);
  try {
    files.create_directories(copy.parent_path());
    remove_abandoned_files(copy.parent_path(), files);
    write_content(storage, path, facts, *files.create(unfinished));
    if (is_current(copy, facts)) {  // another machine was faster, and may have mapped it
      files.remove_all(unfinished);
      return;
    }
    files.rename(unfinished, copy);
    base::write_file_atomically(files, note_of(copy), text_of(facts));
  } catch (const base::FileError& error) {
    files.remove_all(unfinished);
    throw base::DataError(fmt::format(
        "{}: is used from a copy of its {} bytes, and there is no place for that: {}; name a "
        "folder by data.remote.cache",
        path, facts.size, error.what()));
  } catch (...) {
    files.remove_all(unfinished);
    throw;
  }
}

}  // namespace

fs::path copy_to_this_machine(const Storage& storage, const std::string& path,
                              const std::vector<std::string>& names,
                              const std::shared_ptr<base::FileSystem>& files) {
  const fs::path cache = storage.cache_folder();
  if (cache.empty())
    throw base::DataError(fmt::format(
        "{}: its files need a place on this machine: name a folder by data.remote.cache", path));
  fs::path folder = cache / "copies" / base::xxh3_128_hex(path);
  std::vector<fs::path> wanted;
  wanted.reserve(names.size() + 1);
  for (const std::string& name : names) wanted.push_back(path_in(path, name));
  wanted.emplace_back(path);                // may be a file itself
  const IndexTurn turn({folder}, storage);  // who waited finds the copies
  std::vector<std::optional<FileFacts>> facts = facts_of_all(storage, wanted);
  const auto is_file = [](const std::optional<FileFacts>& known) {
    return known && !known->is_folder;
  };
  if (is_file(facts.back())) {
    fs::path copy = folder / fs::path(path).filename();
    if (!is_current(copy, *facts.back())) copy_file(storage, path, *facts.back(), copy, *files);
    return copy;
  }
  facts.pop_back();
  if (std::none_of(facts.begin(), facts.end(), is_file))
    throw base::DataError(fmt::format("{}: there is nothing there that is looked for: {}", path,
                                      fmt::join(names, ", ")));
  for (std::size_t i = 0; i < facts.size(); ++i) {
    const fs::path copy = folder / names[i];
    std::error_code error;
    if (!is_file(facts[i])) {
      fs::remove(copy, error);  // of an original that is gone
      if (error)
        throw base::DataError(fmt::format("{}: a copy of what is gone cannot be removed: {}",
                                          copy.string(), error.message()));
    } else if (!is_current(copy, *facts[i])) {
      copy_file(storage, wanted[i], *facts[i], copy, *files);
    }
  }
  return folder;
}

}  // namespace paceline::data

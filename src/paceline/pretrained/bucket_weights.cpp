#include "paceline/pretrained/bucket_weights.h"

#include "paceline/base/error.h"
#include "paceline/base/file_status.h"
#include "paceline/base/hash.h"
#include "paceline/data/storage/cache_folder.h"
#include "paceline/pretrained/file_lock.h"
#include "paceline/pretrained/weight_files.h"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace paceline::pretrained {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kPieceBytes = std::uint64_t{8} << 20;
constexpr std::uint64_t kPiecesAtOnce = 8;  // a connection alone is slow

FetchRest fetch_by_storage(const data::InputFile& file, const base::Interruption& interruption) {
  return [&file, &interruption](PartialFile& partial) {
    std::vector<std::uint8_t> bytes;
    while (partial.size() < file.size()) {
      interruption.check("downloading " + file.path());
      bytes.resize(std::min(kPieceBytes * kPiecesAtOnce, file.size() - partial.size()));
      data::read_in_pieces(file, partial.size(), bytes, kPieceBytes, kPiecesAtOnce);
      partial.append({reinterpret_cast<const char*>(bytes.data()), bytes.size()});  // NOLINT: bytes
    }
  };
}

void fetch_file(const data::Storage& storage, const std::string& path, const data::FileFacts& facts,
                const fs::path& target, const DownloadOptions& options) {
  const FileLock lock(options.files, target.parent_path() / ".lock", "downloads " + path,
                      options.interruption);
  if (base::file_exists(target)) return;
  const auto file = storage.open_known(path, facts);
  DownloadPlan plan{path, target, target, facts.size};
  plan.partial += fmt::format(".{:08x}.incomplete", static_cast<std::uint32_t>(facts.changed));
  plan.place_setting = "XDG_CACHE_HOME";
  download(plan, fetch_by_storage(*file, options.interruption), options);
}

}  // namespace

fs::path bucket_cache_folder() {
  const fs::path cache = data::user_cache();
  if (cache.empty())
    throw base::ConfigError(
        "model.pretrained: there is no place for downloaded weights: set XDG_CACHE_HOME or HOME");
  return cache / "weights";
}

FetchedWeights fetch_from_bucket(const BucketSource& source, const fs::path& folder,
                                 const FetchContext& context) {
  const auto storage = context.open_storage();
  const data::FileFacts facts = data::file_facts(*storage, source.path);
  const std::string version = fmt::format("{} {} {}", source.path, facts.size, facts.changed);
  const fs::path target =
      folder / base::xxh3_128_hex(version).substr(0, 16) / file_name_of(source.path);
  fetch_file(*storage, source.path, facts, target, context.download);
  if (is_index(target.filename().string())) {
    for (const std::string& shard : shards_in_index(target)) {
      const std::string path = source.path.substr(0, source.path.rfind('/') + 1) + shard;
      fetch_file(*storage, path, data::file_facts(*storage, path), target.parent_path() / shard,
                 context.download);
    }
  }
  return {target, source.path};
}

}  // namespace paceline::pretrained

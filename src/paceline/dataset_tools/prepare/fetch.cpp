#include "paceline/dataset_tools/prepare/fetch.h"

#include "paceline/base/error.h"
#include "paceline/dataset_tools/prepare/md5.h"

#include <algorithm>
#include <future>
#include <span>
#include <vector>

namespace paceline::dataset_tools {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kHashedBytes = std::uint64_t{1} << 20;  ///< at once

std::string_view as_text(std::span<const std::uint8_t> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// Adds the whole of a file to a checksum.
void add_file(const data::InputFile& file, Md5& sum, const FetchProgress& progress) {
  std::vector<std::uint8_t> bytes;
  for (std::uint64_t at = 0; at < file.size(); at += bytes.size()) {
    bytes.resize(std::min(kHashedBytes, file.size() - at));
    file.read(at, bytes);
    sum.update(bytes);
    if (progress) progress(at + bytes.size(), file.size());
  }
}

class Fetch {
 public:
  Fetch(const data::Storage& storage, const std::string& from, const FetchOptions& options,
        const FetchProgress& progress)
      : options_(options), progress_(progress), source_(storage.open(from)) {}

  /// Brings `part` to the source's full length and returns its checksum.
  std::string complete(const fs::path& part, base::FileSystem& files) {
    Md5 sum;
    std::uint64_t here = 0;
    if (fs::exists(part) && fs::file_size(part) > source_->size()) files.remove_all(part);
    if (fs::exists(part)) {
      add_file(data::LocalFile(part), sum, {});
      here = fs::file_size(part);
    }
    try {
      append_from(here, *files.append(part), sum);
    } catch (const base::DataError& error) {
      throw base::DataError(fmt::format(
          "{}; what has come is kept: the same command goes on from there", error.what()));
    }
    return sum.finish();
  }

 private:
  /// While one stretch is written the next one is read.
  void append_from(std::uint64_t here, base::OutputFile& file, Md5& sum) {
    std::vector<std::uint8_t> coming;
    std::vector<std::uint8_t> written;
    std::future<void> writing;
    if (progress_) progress_(here, source_->size());  // the time begins
    while (here < source_->size()) {
      coming.resize(std::min(stretch_bytes(), source_->size() - here));
      read_in_pieces(*source_, here, coming, options_.read_bytes, options_.connections);
      if (writing.valid()) writing.get();
      coming.swap(written);
      here += written.size();
      writing = std::async(std::launch::async, [&] {
        file.write(as_text(written));
        sum.update(written);
      });
      if (progress_) progress_(here, source_->size());
    }
    if (writing.valid()) writing.get();
    file.sync();
    file.close();
  }

  std::uint64_t stretch_bytes() const {
    return options_.read_bytes * static_cast<std::uint64_t>(options_.connections);
  }

  const FetchOptions& options_;
  const FetchProgress& progress_;
  std::unique_ptr<const data::InputFile> source_;
};

std::string wrong_sum(const std::string& path, const std::string& found, const std::string& md5) {
  return fmt::format("{}: its MD5 is {}, but that of the published file is {}", path, found, md5);
}

}  // namespace

void fetch(const data::Storage& storage, const std::string& from, const std::string& md5,
           const fs::path& target, const FetchOptions& options, base::FileSystem& files,
           const FetchProgress& progress) {
  PACELINE_CHECK(options.connections > 0 && options.read_bytes > 0, "{} reads of {} bytes at once",
                 options.connections, options.read_bytes);
  const fs::path part = target.string() + ".part";
  if (md5.empty()) {  // nothing tells whether what is here is of the same file
    files.remove_all(target);
    files.remove_all(part);
  }
  if (fs::exists(target)) return;
  files.create_directories(target.parent_path());
  Fetch copying(storage, from, options, progress);
  for (const bool is_last : {false, true}) {
    const std::string found = copying.complete(part, files);
    if (md5.empty() || found == md5) break;
    files.remove_all(part);
    const std::string problem = wrong_sum(from, found, md5);
    if (is_last) throw base::DataError(problem + ", twice; fetch it from another place");
    if (options.say) options.say(problem + "; fetching it again");
  }
  files.rename(part, target);
  files.sync_directory(target.parent_path());
}

void check_md5(const data::Storage& storage, const std::string& path, const std::string& md5,
               const FetchProgress& progress) {
  Md5 sum;
  add_file(*storage.open(path), sum, progress);
  if (const std::string found = sum.finish(); found != md5)
    throw base::DataError(wrong_sum(path, found, md5) + "; fetch it again");
}

}  // namespace paceline::dataset_tools

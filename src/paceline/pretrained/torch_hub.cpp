#include "paceline/pretrained/torch_hub.h"

#include "paceline/base/error.h"
#include "paceline/base/file_status.h"
#include "paceline/base/hash.h"
#include "paceline/base/log.h"
#include "paceline/base/text.h"
#include "paceline/pretrained/file_lock.h"
#include "paceline/pretrained/partial_file.h"
#include "paceline/pretrained/weight_files.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdlib>
#include <utility>

namespace paceline::pretrained {
namespace {

namespace fs = std::filesystem;

std::string environment_value(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

/// What a server tells of a file before it is fetched; nothing of it where it refuses such
/// questions.
struct Version {
  std::optional<std::uint64_t> size;
  std::string etag;
};

Version ask_version(const data::HttpExchange& exchange, const std::string& url,
                    const std::string& name) {
  const data::HttpResponse response = exchange.get_headers({.url = url});
  const bool is_refused = response.status == 403 || response.status == 405;  // of signed URLs
  if (is_refused) return {};
  data::throw_unless_ok(response, name);
  Version version;
  const std::string length = response.header("content-length");
  std::uint64_t size = 0;
  if (std::from_chars(length.data(), length.data() + length.size(), size).ec == std::errc())
    version.size = size;
  version.etag = response.header("etag");
  if (version.etag.starts_with("W/")) version.etag.clear();  // does not tell of every byte
  return version;
}

[[noreturn]] void refuse_present(const fs::path& path, const std::string& name,
                                 const std::string& problem) {
  throw base::DataError(fmt::format(
      "{}: {} is there, but {}: it is damaged, or another file of that name; move it away and "
      "start again, or name it by its path if it is what you want",
      name, path.string(), problem));
}

/// By the hash in its name, or by its size.
void check_present(const fs::path& path, const std::string& name, const std::string& url,
                   const std::string& hash, const FetchContext& context) {
  if (!hash.empty()) {
    const std::string sum = sha256_of_file(path);
    if (!sum.starts_with(hash))
      refuse_present(path, name,
                     fmt::format("its SHA-256 is {} and should begin with {}", sum, hash));
    return;
  }
  try {
    const Version version = ask_version(*context.open_http(), url, name);
    const std::uint64_t size = fs::file_size(path);
    if (!version.size || *version.size == size) return;
    refuse_present(path, name,
                   fmt::format("it has {} bytes, and that of the server {}", size, *version.size));
  } catch (const data::TransientError& error) {
    base::log_warning("{}; taking {} as it is", error.what(), path.string());
  }
}

}  // namespace

fs::path torch_hub_folder() {
  fs::path home = environment_value("TORCH_HOME");
  if (home.empty()) {
    home = environment_value("XDG_CACHE_HOME");
    if (home.empty()) home = fs::path(environment_value("HOME")) / ".cache";
    home /= "torch";
  }
  return home / "hub" / "checkpoints";
}

std::string hash_in_name(const std::string& file_name) {
  constexpr std::size_t kShortest = 8;  // fewer are a size or a year
  const std::string stem = fs::path(file_name).stem().string();
  const std::size_t dash = stem.rfind('-');
  if (dash == std::string::npos) return {};
  const std::string hash = stem.substr(dash + 1);
  const bool is_hash =
      hash.size() >= kShortest && std::ranges::all_of(hash, [](unsigned char letter) {
        return std::isdigit(letter) != 0 || (letter >= 'a' && letter <= 'f');
      });
  return is_hash ? hash : "";
}

FetchedWeights fetch_to_torch_hub(const PublishedFile& file, const fs::path& folder,
                                  const FetchContext& context) {
  const std::string file_name = file_name_of(file.url);
  const std::string name =
      file.name.empty() ? std::string(data::without_query(file.url)) : file.name;
  if (is_index(file_name))
    throw base::ConfigError(fmt::format(
        "model.pretrained: {}: weights in several files come from hf:, s3://, gs:// or a path",
        name));
  const std::string hash = hash_in_name(file_name);
  const fs::path target = folder / file_name;
  const DownloadOptions& options = context.download;
  const FileLock lock(options.files, folder / ("." + file_name + ".lock"), "downloads " + name,
                      options.interruption);
  if (base::file_exists(target)) {
    check_present(target, name, file.url, hash, context);
    return {target, name};
  }
  const auto exchange = context.open_http();
  Version version;
  retry(name, options, [&] { version = ask_version(*exchange, file.url, name); });
  // Parts of two versions never meet: the hash, or else the server's name of the version, tells.
  const std::string mark =
      hash.empty() ? "." + base::xxh3_128_hex(version.etag).substr(0, 8) : std::string();
  const DownloadPlan plan{name,         target, folder / (file_name + mark + ".incomplete"),
                          version.size, hash,   "TORCH_HOME"};
  download(plan, fetch_by_http(*exchange, {name, file.url, {}, version.etag}, options.interruption),
           options);
  return {target, name};
}

}  // namespace paceline::pretrained

#include "paceline/data/remote/plugin/http_storage.h"

#include "paceline/base/hash.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <limits>
#include <utility>

#include <fmt/format.h>

namespace paceline::data {
namespace {

/// Below zero, as FileFacts wants it of hashes.
std::int64_t version_of(const HttpResponse& response) {
  std::string version = response.header("etag");
  if (version.starts_with("W/")) version.erase(0, 2);
  if (version.empty()) version = response.header("last-modified");
  if (version.empty()) return 0;
  return static_cast<std::int64_t>(base::xxh3(version) | std::uint64_t{1} << 63);
}

/// The size behind the slash of "bytes 0-0/1234"; nothing if the server does not tell it.
std::optional<std::uint64_t> total_size(const HttpResponse& response) {
  const std::string range = response.header("content-range");
  const std::size_t slash = range.find('/');
  if (slash == std::string::npos) return std::nullopt;
  std::uint64_t size = 0;
  const char* const end = range.data() + range.size();
  const auto [behind, error] = std::from_chars(range.data() + slash + 1, end, size);
  return error == std::errc() && behind == end ? std::optional(size) : std::nullopt;
}

/// Where the first byte of "bytes 7-9/1234" lies.
std::optional<std::uint64_t> first_byte(const HttpResponse& response) {
  const std::string range = response.header("content-range");
  const std::size_t digits = range.find_first_of("0123456789");
  if (!range.starts_with("bytes") || digits == std::string::npos) return std::nullopt;
  std::uint64_t first = 0;
  const auto [behind, error] =
      std::from_chars(range.data() + digits, range.data() + range.size(), first);
  return error == std::errc() ? std::optional(first) : std::nullopt;
}

[[noreturn]] void fail_without_ranges(const std::string& path) {
  throw base::DataError(
      fmt::format("{}: the server does not serve ranges of a file (HTTP status 206), which reading "
                  "in place needs; download the file, or use another server",
                  path));
}

class HttpFile final : public InputFile {
 public:
  HttpFile(std::shared_ptr<const HttpClient> client, HttpPlace place, const FileFacts& facts)
      : InputFile(place.path, facts.size),
        client_(std::move(client)),
        place_(std::move(place)),
        facts_(facts) {}

  void read(std::uint64_t offset, std::span<std::uint8_t> target) const override {
    if (target.empty()) return;
    if (offset > size() || target.size() > size() - offset)
      throw base::DataError(fmt::format("{}: ends at byte {}, {} bytes before it should", path(),
                                        size(), offset + target.size() - size()));
    const std::string known = redirect_target();
    std::size_t count = 0;
    HttpResponse response = fetch(known, offset, target, count);
    if (!known.empty() && response.status / 100 == 4) {  // a signed URL that has expired
      remember({});
      response = fetch({}, offset, target, count);
    }
    check(response, offset);
    if (count != target.size())
      throw TransientError(fmt::format("{}: {} of {} bytes came from byte {} on", path(), count,
                                       target.size(), offset));
    if (origin_of(response.url) != origin_of(place_.url)) remember(response.url);
  }

 private:
  /// Fills `target` from the start with what comes, which may be less.
  HttpResponse fetch(const std::string& redirect, std::uint64_t offset,
                     std::span<std::uint8_t> target, std::size_t& count) const {
    count = 0;
    HttpRequest request{place_.url, place_.bearer,
                        fmt::format("{}-{}", offset, offset + target.size() - 1)};
    if (!redirect.empty()) request = {redirect, {}, request.range};
    return client_->get(request, [&](const HttpResponse& response, std::string_view bytes) {
      if (response.status != 206) return false;  // check() says why
      const std::size_t taken = std::min(bytes.size(), target.size() - count);
      std::memcpy(target.data() + count, bytes.data(), taken);
      count += taken;
      return taken == bytes.size();
    });
  }

  void check(const HttpResponse& response, std::uint64_t offset) const {
    const bool has_shrunk = response.status == 416;
    if (!has_shrunk) throw_unless_ok(response, path());
    if (!has_shrunk && response.status != 206) fail_without_ranges(path());
    const auto total = total_size(response);
    const bool is_other = !place_.is_fixed && version_of(response) != facts_.changed;
    if (has_shrunk || (total && *total != size()) || is_other)
      throw base::DataError(fmt::format(
          "{}: changed on the server since it was opened; start again to read the new version",
          path()));
    if (first_byte(response) != offset)
      throw TransientError(fmt::format("{}: the server sent '{}' instead of bytes from {} on",
                                       path(), response.header("content-range"), offset));
  }

  std::string redirect_target() const {
    const std::lock_guard lock(mutex_);
    return redirect_target_;
  }

  void remember(const std::string& target) const {
    const std::lock_guard lock(mutex_);
    redirect_target_ = target;
  }

  std::shared_ptr<const HttpClient> client_;
  HttpPlace place_;
  FileFacts facts_;
  mutable std::mutex mutex_;
  mutable std::string redirect_target_;  ///< on another host; empty: none, or it was on this one
};

class HttpStorage final : public Storage {
 public:
  explicit HttpStorage(double timeout_s) : client_(std::make_shared<HttpClient>(timeout_s)) {}

  std::unique_ptr<const InputFile> open(const std::string& path) const override {
    return open_known(path, file_facts(*this, path));
  }

  std::unique_ptr<const InputFile> open_known(const std::string& path,
                                              const FileFacts& facts) const override {
    return open_http(client_, {path, path}, facts);
  }

  std::optional<FileFacts> facts(const std::string& path) const override {
    return http_facts(*client_, {path, path});
  }

  std::vector<FileEntry> list(const std::string& folder) const override {
    throw base::DataError(
        fmt::format("{}: HTTP servers do not list folders; name the files, as in "
                    "train-{{000000..000063}}.tar",
                    folder));
  }

 private:
  std::shared_ptr<const HttpClient> client_;
};

}  // namespace

std::optional<FileFacts> http_facts(const HttpClient& client, const HttpPlace& place) {
  // Not HEAD, which signed URLs and some servers refuse, and which does not show whether ranges are
  // served.
  const HttpResponse response =
      client.get({place.url, place.bearer, "0-0"},
                 [](const HttpResponse& head, std::string_view) { return head.status == 206; });
  if (response.status == 404 || response.status == 410) return std::nullopt;
  const std::optional<std::uint64_t> size = total_size(response);
  const bool is_empty = (response.status == 416 && size == std::uint64_t{0}) ||
                        (response.status == 200 && response.header("content-length") == "0");
  if (!is_empty) throw_unless_ok(response, place.path);
  if (!is_empty && (response.status != 206 || !size)) fail_without_ranges(place.path);
  return FileFacts{.is_folder = false, .size = size.value_or(0), .changed = version_of(response)};
}

std::unique_ptr<const InputFile> open_http(std::shared_ptr<const HttpClient> client,
                                           const HttpPlace& place, const FileFacts& facts) {
  return std::make_unique<const HttpFile>(std::move(client), place, facts);
}

std::unique_ptr<const Storage> open_http_storage(double timeout_s) {
  return std::make_unique<const HttpStorage>(timeout_s);
}

}  // namespace paceline::data

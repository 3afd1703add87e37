#include "paceline/base/file_status.h"

namespace paceline::base {

namespace fs = std::filesystem;

namespace {

fs::file_status status_of(const fs::path& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (status.type() == fs::file_type::none) throw FileError("look at", path, error.value());
  return status;
}

}  // namespace

bool file_exists(const fs::path& path) { return fs::exists(status_of(path)); }

bool folder_exists(const fs::path& path) { return fs::is_directory(status_of(path)); }

bool lies_in(const fs::path& path, const fs::path& folder) {
  const auto whole = [](const fs::path& named) {
    return fs::weakly_canonical(fs::absolute(named));
  };
  const fs::path way = whole(path).lexically_relative(whole(folder));
  return !way.empty() && *way.begin() != "..";
}

FileError file_error_of(const fs::filesystem_error& error) {
  return {"use", error.path1(), error.code().value()};
}

bool is_unfinished_name(std::string_view name) {
  constexpr std::size_t kDigits = 16;
  const std::size_t mark = name.rfind(kUnfinishedMark);
  if (mark == 0 || mark == name.npos) return false;
  const std::string_view digits = name.substr(mark + kUnfinishedMark.size());
  return digits.size() == kDigits && digits.find_first_not_of("0123456789abcdef") == digits.npos;
}

}  // namespace paceline::base

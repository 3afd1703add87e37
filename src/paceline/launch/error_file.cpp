#include "paceline/launch/error_file.h"

#include "paceline/base/clock.h"
#include "paceline/base/error.h"
#include "paceline/base/file.h"
#include "paceline/base/json.h"
#include "paceline/launch/environment.h"

#include <cstdint>
#include <exception>

#include <nlohmann/json.hpp>

namespace paceline::launch {
namespace {

constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 20;

}  // namespace

void write_error_file(std::string_view message) noexcept {
  try {
    const auto path = Environment::of_process().get(kErrorFileVariable);
    if (!path || path->empty()) return;
    const auto seconds = static_cast<std::int64_t>(base::SystemClock().wall_s());
    const nlohmann::json extra = {{"py_callstack", ""}, {"timestamp", std::to_string(seconds)}};
    const nlohmann::json json = {{"message", {{"message", message}, {"extraInfo", extra}}}};
    base::RealFileSystem files;
    // Messages quote paths, which need not be UTF-8.
    files.create(*path)->write(json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  } catch (const std::exception&) {
    // The message stands in the log, too.
  }
}

std::optional<std::string> read_error_file(const std::filesystem::path& path) {
  try {
    const nlohmann::json json = base::parse_json(base::read_file(path, kMostBytes));
    const nlohmann::json& message = json.at("message");
    return message.is_string() ? message.get<std::string>()
                               : message.at("message").get<std::string>();
  } catch (const base::Error&) {
    return std::nullopt;
  } catch (const nlohmann::json::exception&) {
    return std::nullopt;
  }
}

}  // namespace paceline::launch

#include "paceline/data/remote/plugin/gcs_storage.h"

#include "paceline/base/error.h"
#include "paceline/data/remote/plugin/arrow_storage.h"

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <utility>

#include <arrow/filesystem/gcsfs.h>
#include <arrow/result.h>
#include <fmt/format.h>

namespace paceline::data {
namespace {

namespace afs = arrow::fs;

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

/// As Google's own libraries find out.
bool is_on_google_cloud() {
  std::ifstream file("/sys/class/dmi/id/product_name");
  std::string name;
  std::getline(file, name);
  return name.starts_with("Google");
}

bool has_credentials() {
  return !variable("GOOGLE_APPLICATION_CREDENTIALS").empty() || is_on_google_cloud() ||
         is_file(*local_storage(), std::filesystem::path(variable("HOME")) /
                                       ".config/gcloud/application_default_credentials.json");
}

class Gcs final : public Cloud {
 public:
  Gcs() {
    std::string host = variable("STORAGE_EMULATOR_HOST");
    is_public_ = !host.empty() || !has_credentials();
    options_ = is_public_ ? afs::GcsOptions::Anonymous() : afs::GcsOptions::Defaults();
    options_.retry_limit_seconds = 0.001;
    if (host.empty()) return;
    options_.scheme = host.starts_with("https://") ? "https" : "http";
    if (const std::size_t end = host.find("://"); end != std::string::npos) host.erase(0, end + 3);
    options_.endpoint_override = host;
  }

  std::string_view scheme() const override { return "gs"; }

  std::shared_ptr<afs::FileSystem> connect(const std::string& bucket) const override {
    auto system = afs::GcsFileSystem::Make(options_);
    if (!system.ok())
      throw base::ConfigError(fmt::format("gs://{}: {}", bucket, system.status().message()));
    return *system;
  }

  /// It names objects only.
  bool lists_folders() const override { return false; }

  bool may_pass(const arrow::Status& error) const override {
    constexpr std::array kTransient = {"UNAVAILABLE",        "DEADLINE_EXCEEDED", "INTERNAL",
                                       "RESOURCE_EXHAUSTED", "ABORTED",           "DATA_LOSS"};
    for (const char* mark : kTransient) {
      if (error.message().find(mark) != std::string::npos) return true;
    }
    return false;
  }

  std::string explain(const arrow::Status& error) const override {
    const auto says = [&](const char* mark) {
      return error.message().find(mark) != std::string::npos;
    };
    if (says("UNAUTHENTICATED") || says("PERMISSION_DENIED"))
      return is_public_ ? "access is refused and there are no credentials; run `gcloud auth "
                          "application-default login` or set GOOGLE_APPLICATION_CREDENTIALS"
                        : "access is refused; the account needs the role Storage Object Viewer";
    if (says("NOT_FOUND") || says("does not exist"))
      return "there is no such bucket, file or folder";
    return {};
  }

 private:
  afs::GcsOptions options_;
  bool is_public_ = false;
};

}  // namespace

std::unique_ptr<const Storage> open_gcs_storage(const RemoteConfig& config) {
  return open_arrow_storage(std::make_unique<const Gcs>(), config.connections);
}

}  // namespace paceline::data

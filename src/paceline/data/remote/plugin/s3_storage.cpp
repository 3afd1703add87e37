#include "paceline/data/remote/plugin/s3_storage.h"

#include "paceline/base/error.h"
#include "paceline/data/remote/plugin/arrow_storage.h"

#include <array>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>

#include <arrow/filesystem/s3fs.h>
#include <arrow/result.h>
#include <fmt/format.h>

namespace paceline::data {
namespace {

namespace afs = arrow::fs;

/// The first of the variables that is set; empty if none is.
std::string first_set(std::initializer_list<const char*> names) {
  for (const char* name : names) {
    if (const char* value = std::getenv(name); value != nullptr && *value != '\0') return value;
  }
  return {};
}

/// Our own retries are seen and counted; those of the library would only make them longer.
class NoRetries final : public afs::S3RetryStrategy {
 public:
  bool ShouldRetry(const AWSErrorDetail&, std::int64_t) override { return false; }
  std::int64_t CalculateDelayBeforeNextRetry(const AWSErrorDetail&, std::int64_t) override {
    return 0;
  }
};

/// The library must be closed before its own static objects die, so after they have been made: some
/// are by the first file system.
void start_s3_once() {
  static const bool is_started = [] {
    afs::S3GlobalOptions global = afs::S3GlobalOptions::Defaults();
    global.log_level = afs::S3LogLevel::Off;
    global.install_sigpipe_handler = true;  // a server that hangs up is no reason to end
    arrow::Status status = afs::InitializeS3(global);
    afs::S3Options options = afs::S3Options::Anonymous();
    options.region = "us-east-1";
    if (status.ok()) status = afs::S3FileSystem::Make(options).status();
    if (!status.ok()) throw base::DataError("S3 cannot start: " + status.message());
    std::atexit([] { static_cast<void>(afs::EnsureS3Finalized()); });  // too late to tell anyone
    return true;
  }();
  static_cast<void>(is_started);
}

struct Explained {
  std::string_view mark;  ///< in Arrow's message
  std::string_view text;
};

constexpr std::array kTransient = {std::string_view("AWS Error NETWORK_CONNECTION"),
                                   std::string_view("AWS Error SLOW_DOWN"),
                                   std::string_view("AWS Error THROTTLING"),
                                   std::string_view("AWS Error REQUEST_TIMEOUT"),
                                   std::string_view("AWS Error SERVICE_UNAVAILABLE"),
                                   std::string_view("AWS Error INTERNAL_FAILURE"),
                                   std::string_view("AWS Error UNKNOWN (HTTP status 5"),
                                   std::string_view("HTTP status 429"),
                                   std::string_view("HTTP status 408"),
                                   std::string_view("HTTP status 200"),
                                   std::string_view("HTTP status 206")};

constexpr std::array kExplained = {
    Explained{"xpired",
              "the credentials have expired; get new ones (`aws sso login`, or a new "
              "AWS_SESSION_TOKEN) and start again"},
    Explained{"INVALID_ACCESS_KEY_ID",
              "the service does not know the access key; set "
              "AWS_ACCESS_KEY_ID or AWS_PROFILE"},
    Explained{"INVALID_CLIENT_TOKEN_ID",
              "the service does not know the access key; set "
              "AWS_ACCESS_KEY_ID or AWS_PROFILE"},
    Explained{"SIGNATURE_DOES_NOT_MATCH",
              "AWS_SECRET_ACCESS_KEY does not belong to the access key"},
    Explained{"REQUEST_TIME_TOO_SKEWED", "the clock of this machine is wrong; set it"},
    Explained{"NO_SUCH_BUCKET",
              "there is no such bucket; see its name, and AWS_ENDPOINT_URL if it "
              "is not at AWS"},
    Explained{"NO_SUCH_KEY", "there is no such file"},
    Explained{"Path does not exist", "there is no such file or folder"},
    Explained{"PERMANENT_REDIRECT", "the bucket is in another region; set AWS_REGION"},
    Explained{"HTTP status 301", "the bucket is in another region; set AWS_REGION"}};

class S3 final : public Cloud {
 public:
  explicit S3(const RemoteConfig& config) : options_(afs::S3Options::Defaults()) {
    is_public_ = options_.GetAccessKey().empty();
    if (is_public_) options_.ConfigureAnonymousCredentials();
    options_.connect_timeout = config.timeout;
    options_.request_timeout = config.timeout;
    options_.retry_strategy = std::make_shared<NoRetries>();
    std::string endpoint = first_set({"AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"});
    while (endpoint.ends_with('/')) endpoint.pop_back();
    if (const std::size_t end = endpoint.find("://"); end != std::string::npos) {
      options_.scheme = endpoint.substr(0, end);
      endpoint.erase(0, end + 3);
    }
    options_.endpoint_override = endpoint;
    options_.region = first_set({"AWS_REGION", "AWS_DEFAULT_REGION"});
    if (options_.region.empty() && !endpoint.empty()) options_.region = "us-east-1";
  }

  std::string_view scheme() const override { return "s3"; }

  std::shared_ptr<afs::FileSystem> connect(const std::string& bucket) const override {
    afs::S3Options options = options_;
    if (options.region.empty()) {
      auto region = afs::ResolveS3BucketRegion(bucket);
      if (!region.ok() && may_pass(region.status()))
        throw TransientError(fmt::format("s3://{}: cannot find the bucket's region: {}", bucket,
                                         region.status().message()));
      if (!region.ok())
        throw base::DataError(
            fmt::format("s3://{}: cannot find the bucket's region: {}; see its name, or set "
                        "AWS_REGION",
                        bucket, region.status().message()));
      options.region = *region;
    }
    auto system = afs::S3FileSystem::Make(options);
    if (!system.ok())
      throw base::ConfigError(fmt::format("s3://{}: {}", bucket, system.status().message()));
    return *system;
  }

  bool may_pass(const arrow::Status& error) const override {
    for (const std::string_view mark : kTransient) {
      if (error.message().find(mark) != std::string::npos) return true;
    }
    return false;
  }

  std::string explain(const arrow::Status& error) const override {
    for (const Explained& known : kExplained) {
      if (error.message().find(known.mark) != std::string::npos) return std::string(known.text);
    }
    if (error.message().find("ACCESS_DENIED") == std::string::npos) return {};
    return is_public_ ? "access is refused and there are no credentials; set AWS_PROFILE or "
                        "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or give the machine a role"
                      : "access is refused; the credentials need s3:GetObject and s3:ListBucket";
  }

 private:
  afs::S3Options options_;
  bool is_public_ = false;
};

}  // namespace

std::unique_ptr<const Storage> open_s3_storage(const RemoteConfig& config) {
  start_s3_once();
  return open_arrow_storage(std::make_unique<const S3>(config), config.connections);
}

}  // namespace paceline::data

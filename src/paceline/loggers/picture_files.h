#pragma once

#include "paceline/base/file.h"
#include "paceline/config/schema.h"
#include "paceline/loggers/sink_context.h"

#include <cstdint>
#include <filesystem>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

namespace paceline::loggers {

struct PictureFilesConfig {
  std::string directory = "pictures";
  std::int64_t keep = 20;
};

/// Writes each picture as FOLDER/step-N/PREFIX_NAME.png, on a thread that lives meanwhile, and
/// keeps those of the newest steps. Nothing is made before there is a picture; one that cannot be
/// written is left out with a warning, of which there is one.
class PictureFiles final : public metrics::MetricSink {
 public:
  /// `files` must outlive it.
  PictureFiles(std::filesystem::path folder, std::int64_t keep, base::FileSystem& files);
  ~PictureFiles() override;
  PictureFiles(const PictureFiles&) = delete;
  PictureFiles& operator=(const PictureFiles&) = delete;

  std::string_view name() const override { return "pictures"; }
  void log_step(const metrics::MetricStep&, std::span<const metrics::MetricValue>) override {}
  void log_event(const metrics::MetricStep&, std::string_view,
                 std::span<const metrics::MetricValue>) override {}
  void log_text(const metrics::MetricStep&, std::string_view, std::string_view) override {}
  void log_picture(const metrics::MetricStep& at, const metrics::Picture& picture) override;
  void log_hparams(std::span<const std::pair<std::string, std::string>>) override {}
  void resume_at(std::int64_t step) override;
  void flush() override;
  std::vector<std::pair<std::string, double>> summarise() override;

 private:
  void write(std::int64_t step, const metrics::Picture& picture);
  void remove_old() const;

  std::filesystem::path folder_;
  std::int64_t keep_;
  base::FileSystem& files_;
  std::int64_t num_failures_ = 0;     ///< known when writing_ is done
  std::mutex mutex_;                  ///< guards writing_
  std::shared_future<void> writing_;  ///< of all that was logged
};

/// Writes a picture into a folder that is there, as PREFIX_NAME.png by its name PREFIX/NAME. Throws
/// FileError.
void write_picture(base::FileSystem& files, const std::filesystem::path& folder,
                   const metrics::Picture& picture);

/// For rank 0.
std::unique_ptr<metrics::MetricSink> make(const PictureFilesConfig& config,
                                          const SinkContext& context);

}  // namespace paceline::loggers

template <>
struct paceline::config::Schema<paceline::loggers::PictureFilesConfig> {
  using Config = loggers::PictureFilesConfig;
  static constexpr std::string_view name = "pictures";
  static constexpr std::string_view summary =
      "What evaluations show, as PNG files: step-N/val_NAME.png in a folder of the run.";
  static constexpr auto fields =
      std::tuple{field(&Config::directory, "directory",
                       "Name of the folder in the run's directory.", PlainName{}),
                 field(&Config::keep, "keep", "Steps whose pictures are kept, the newest ones.",
                       AtLeast{1}, AtMost{1'000'000, "no run evaluates as often"})};
};

#pragma once

#include "paceline/base/clock.h"
#include "paceline/base/file.h"
#include "paceline/config/schema.h"
#include "paceline/loggers/record.h"
#include "paceline/loggers/record_file.h"
#include "paceline/loggers/sink_context.h"

#include <filesystem>
#include <functional>
#include <memory>
#include <string>

namespace paceline::loggers {

struct TensorboardConfig {
  std::string directory;
};

/// Writes event files that TensorBoard shows: scalars, text, pictures, hyper-parameters. For rank
/// 0: TensorBoard wants one writer per directory.
std::unique_ptr<metrics::MetricSink> make(const TensorboardConfig& config,
                                          const SinkContext& context);

/// Each writer makes a file of its own and never appends to another's, which may end in half a
/// record. The file begins with the step from which on it holds, so that readers drop what earlier
/// files hold beyond a resume.
class TensorboardWriter final : public RecordWriter {
 public:
  /// `clock` and `files` must outlive the writer. The folder is made here and never again: it may
  /// be the run's, whose loss must show. The file is opened by the first write.
  TensorboardWriter(std::filesystem::path directory, std::string run_name, base::FileSystem& files,
                    const base::Clock& clock);

  std::string_view name() const override { return "tensorboard"; }
  void write(const Record& record) override;
  bool shows_pictures() const override { return true; }
  void write_picture(const metrics::MetricStep& at, const metrics::Picture& picture) override;
  void drained() override;
  void sync() override;
  void resume_at(std::int64_t step) override;
  std::vector<std::pair<std::string, double>> failures() const override { return file_.failures(); }

 private:
  std::unique_ptr<base::OutputFile> open();

  std::filesystem::path directory_;
  std::string run_name_;
  base::FileSystem& files_;
  const base::Clock& clock_;
  RecordFile file_;
  std::int64_t first_step_ = 0;  ///< what earlier files hold from here on is void
  std::int64_t last_step_ = 0;   ///< of what was logged; a file that is opened anew voids nothing
  bool is_reopening_ = false;
  std::string records_;  ///< of one call; keeps its memory
};

}  // namespace paceline::loggers

template <>
struct paceline::config::Schema<paceline::loggers::TensorboardConfig> {
  using Config = loggers::TensorboardConfig;
  static constexpr std::string_view name = "tensorboard";
  static constexpr std::string_view summary = "Event files for TensorBoard.";
  static constexpr auto fields =
      std::tuple{field(&Config::directory, "directory",
                       "Folder of the event files, below the run's directory if relative; empty: "
                       "the run's directory.")};
};

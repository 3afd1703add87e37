#pragma once

#include "paceline/base/file.h"
#include "paceline/config/schema.h"
#include "paceline/loggers/record.h"
#include "paceline/loggers/record_file.h"
#include "paceline/loggers/sink_context.h"

#include <filesystem>
#include <memory>
#include <string>

namespace paceline::loggers {

struct JsonlConfig {
  std::string file = "metrics.jsonl";
};

/// Writes every value of the run to one file in its directory. For rank 0.
std::unique_ptr<metrics::MetricSink> make(const JsonlConfig& config, const SinkContext& context);

/// One JSON object a line:
/// {"step":7,"epoch":0,"samples":448,"wall_time":1700000000.25,"train/loss":0.5}; those of
/// log_event have "event" before their values, those of log_text "text" (the tag) and "value". NaN
/// and infinities, which JSON lacks, are the texts "NaN", "Infinity" and "-Infinity".
/// Hyper-parameters are not repeated here: config.yaml lies beside it.
class JsonlWriter final : public RecordWriter {
 public:
  /// `files` must outlive the writer. The file is opened by the first write.
  JsonlWriter(std::filesystem::path path, base::FileSystem& files);

  std::string_view name() const override { return "jsonl"; }
  void write(const Record& record) override;
  void drained() override;
  void sync() override;
  /// Keeps the whole lines of steps up to `step`.
  void resume_at(std::int64_t step) override;
  std::vector<std::filesystem::path> files_to_cut() const override { return {path_}; }
  std::vector<std::pair<std::string, double>> failures() const override { return file_.failures(); }

 private:
  std::filesystem::path path_;
  base::FileSystem& files_;
  RecordFile file_;
  std::string line_;  ///< keeps its memory
};

}  // namespace paceline::loggers

template <>
struct paceline::config::Schema<paceline::loggers::JsonlConfig> {
  using Config = loggers::JsonlConfig;
  static constexpr std::string_view name = "jsonl";
  static constexpr std::string_view summary = "All metrics as JSON lines in the run's directory.";
  static constexpr auto fields = std::tuple{
      field(&Config::file, "file", "Name of the file in the run's directory.", PlainName{})};
};

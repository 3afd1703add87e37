#pragma once

#include "paceline/config/schema.h"
#include "paceline/loggers/record.h"
#include "paceline/loggers/sink_context.h"

#include <cstdint>
#include <memory>
#include <string_view>
#include <tuple>

namespace paceline::loggers {

struct NewPartConfig {
  std::int64_t every = 1;
};

/// Takes every so manyth record: say here where it goes.
class NewPartWriter final : public RecordWriter {
 public:
  explicit NewPartWriter(const NewPartConfig& config) : config_(config) {}

  std::string_view name() const override { return "new_part"; }
  void write(const Record& record) override;
  void drained() override {}
  void sync() override {}
  void resume_at(std::int64_t step) override;

  std::int64_t num_written() const { return num_written_; }

 private:
  NewPartConfig config_;
  std::int64_t num_written_ = 0;
};

/// For rank 0.
std::unique_ptr<metrics::MetricSink> make(const NewPartConfig& config, const SinkContext& context);

}  // namespace paceline::loggers

template <>
struct paceline::config::Schema<paceline::loggers::NewPartConfig> {
  using Config = loggers::NewPartConfig;
  static constexpr std::string_view name = "new_part";
  static constexpr std::string_view summary = "Says in one sentence where metrics go.";
  static constexpr auto fields =
      std::tuple{field(&Config::every, "every", "Steps from one record to the next.", AtLeast{1},
                       AtMost{1'000'000'000, "no run has more steps"})};
};

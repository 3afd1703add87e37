#include "paceline/loggers/async_sink.h"
#include "paceline/loggers/new_part.h"

namespace paceline::loggers {

void NewPartWriter::write(const Record& record) {
  if (record.kind != RecordKind::kStep || record.at.step % config_.every != 0) return;
  ++num_written_;  // here record.name(i) and record.value(i) are written
}

void NewPartWriter::resume_at(std::int64_t /*step*/) {
  // Here goes what was written of later steps; files_to_cut() names the files.
}

std::unique_ptr<metrics::MetricSink> make(const NewPartConfig& config,
                                          const SinkContext& /*context*/) {
  return std::make_unique<AsyncSink>(std::make_unique<NewPartWriter>(config));
}

}  // namespace paceline::loggers

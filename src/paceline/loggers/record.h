#pragma once

#include "paceline/metrics/metric_sink.h"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace paceline::loggers {

enum class RecordKind { kStep, kEvent, kText, kHparams };

/// One call of a MetricSink, copied so that another thread can write it. Reused: assigning to it
/// keeps its memory, so that in steady state a copy allocates nothing.
class Record {
 public:
  RecordKind kind = RecordKind::kStep;
  metrics::MetricStep at;
  std::string tag;   ///< the event's name or the text's tag
  std::string text;  ///< of kText
  std::vector<std::pair<std::string, std::string>> hparams;
  /// If it is there, this is a call of log_picture(), and `kind` says nothing.
  std::shared_ptr<const metrics::Picture> picture;

  void set_values(std::span<const metrics::MetricValue> values) {
    names_.clear();
    values_.clear();
    for (const metrics::MetricValue& value : values) {
      names_ += value.name;
      values_.push_back({names_.size(), value.value});
    }
  }

  std::size_t num_values() const { return values_.size(); }
  std::string_view name(std::size_t index) const {
    const std::size_t begin = index == 0 ? 0 : values_[index - 1].name_end;
    return std::string_view(names_).substr(begin, values_[index].name_end - begin);
  }
  double value(std::size_t index) const { return values_[index].value; }

 private:
  struct Value {
    std::size_t name_end;
    double value;
  };
  std::string names_;  ///< one after another
  std::vector<Value> values_;
};

/// Writes records somewhere. Called by one thread at a time. One that throws, except in
/// resume_at(), is not called again in this start of the run, which goes on without it; a disk that
/// fails is no reason to throw (RecordFile).
class RecordWriter {
 public:
  virtual ~RecordWriter() = default;
  virtual std::string_view name() const = 0;
  virtual void write(const Record& record) = 0;
  /// Whether write_picture() does something.
  virtual bool shows_pictures() const { return false; }
  virtual void write_picture(const metrics::MetricStep& /*at*/,
                             const metrics::Picture& /*picture*/) {}
  /// No record waits: a good moment to write out what write() collected.
  virtual void drained() = 0;
  /// Everything written so far is on disk when this returns.
  virtual void sync() = 0;
  /// The run resumes at `step`: what lies at later steps must go. Called before the first write.
  virtual void resume_at(std::int64_t step) = 0;
  /// Where resume_at() removes something.
  virtual std::vector<std::filesystem::path> files_to_cut() const { return {}; }
  /// What summary.json shall say of what was not written; nothing where all was.
  virtual std::vector<std::pair<std::string, double>> failures() const { return {}; }
};

}  // namespace paceline::loggers

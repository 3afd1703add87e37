#include "paceline/loggers/record_file.h"

#include "paceline/base/log.h"

#include <cerrno>
#include <exception>

namespace paceline::loggers {

RecordFile::RecordFile(std::string logger, Open open, RecordFileOptions options)
    : logger_(std::move(logger)), open_(std::move(open)), options_(options) {}

void RecordFile::add(std::string_view record) {
  if (is_failing_ && waiting_.size() + record.size() > options_.most_waiting_bytes) {
    num_lost_ += num_waiting_;
    num_waiting_ = 0;
    waiting_.clear();
  }
  waiting_ += record;
  ++num_waiting_;
}

void RecordFile::write_out() {
  if (!is_failing_ || Clock::now() - last_failure_ >= options_.retry_after) try_to_write();
}

void RecordFile::sync() {
  if (!try_to_write() || !file_ || is_synced_) return;
  try {
    file_->sync();
    is_synced_ = true;
  } catch (const std::exception& error) {
    note_failure(error);
  }
}

bool RecordFile::try_to_write() {
  if (waiting_.empty()) return true;
  try {
    if (!file_) file_ = open_();
    file_->write(waiting_);
    is_synced_ = false;
  } catch (const base::FileError& error) {
    const bool is_removed = error.error_number() == EINVAL;  // the one write that is refused
    if (is_removed) file_.reset();
    note_failure(error);
    return false;
  } catch (const std::exception& error) {
    note_failure(error);
    return false;
  }
  waiting_.clear();
  num_waiting_ = 0;
  if (std::exchange(is_failing_, false)) {
    base::log_warning("the {} logger can write again{}", logger_,
                      num_lost_ > 0 ? fmt::format("; it lost {} records so far", num_lost_) : "");
  }
  return true;
}

void RecordFile::note_failure(const std::exception& error) {
  ++num_failures_;
  last_failure_ = Clock::now();
  if (std::exchange(is_failing_, true)) return;
  base::log_warning(
      "the {} logger cannot write: {}. The run goes on; what it has to write is kept "
      "and tried again",
      logger_, error.what());
}

std::vector<std::pair<std::string, double>> RecordFile::failures() const {
  if (num_failures_ == 0) return {};
  return {{"failed_writes", static_cast<double>(num_failures_)},
          {"lost_records", static_cast<double>(num_lost_ + num_waiting_)}};
}

}  // namespace paceline::loggers

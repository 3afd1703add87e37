#include "paceline/launch/output_relay.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include <limits.h>
#include <poll.h>
#include <unistd.h>

namespace paceline::launch {

std::vector<std::string> LineSplitter::add(std::string_view bytes) {
  std::vector<std::string> lines;
  while (!bytes.empty()) {
    const std::size_t newline = bytes.find('\n');
    const std::size_t room = kMaxLine - partial_.size();
    const std::size_t taken = std::min(std::min(newline, bytes.size()), room);
    partial_ += bytes.substr(0, taken);
    const bool is_complete = taken == newline;
    bytes.remove_prefix(is_complete ? taken + 1 : taken);
    if (is_complete || partial_.size() == kMaxLine) {
      lines.push_back(std::move(partial_));
      partial_.clear();
    }
  }
  return lines;
}

std::string LineSplitter::finish() { return std::exchange(partial_, {}); }

void OutputSink::write_line(std::string_view prefix, std::string_view line) {
  if (is_closed_) return;
  pending_ += prefix;
  pending_ += line;
  pending_ += '\n';
  if (!is_full()) flush();
}

void OutputSink::flush() {
  std::size_t written = 0;
  while (written < pending_.size()) {
    // A pipe that polls as writable takes PIPE_BUF bytes without blocking; more might block.
    pollfd writable{descriptor_, POLLOUT, 0};
    if (poll(&writable, 1, 0) == 0) break;
    const std::size_t size = std::min<std::size_t>(pending_.size() - written, PIPE_BUF);
    const ssize_t result = write(descriptor_, pending_.data() + written, size);
    if (result < 0 && (errno == EAGAIN || errno == EINTR)) break;
    if (result < 0) {
      is_closed_ = true;
      written = pending_.size();
      break;
    }
    written += static_cast<std::size_t>(result);
  }
  pending_.erase(0, written);
}

void RankLog::write_line(std::string_view line) {
  if (file_ == nullptr) return;
  std::unique_ptr<base::OutputFile> file = std::move(file_);
  file->write(std::string(line) + "\n");
  file_ = std::move(file);
}

void LastLines::add(std::string line) {
  if (lines_.size() == kCapacity) lines_.pop_front();
  lines_.push_back(std::move(line));
}

}  // namespace paceline::launch

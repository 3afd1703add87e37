#pragma once

#include <string_view>

namespace paceline::base {

/// What long work tells on standard error meanwhile: one line that changes on a terminal, and is
/// gone when the work is done; lines one below the other in a pipe.
class ProgressLine {
 public:
  ProgressLine();
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  bool is_terminal() const { return is_terminal_; }
  void say(std::string_view text) const;

 private:
  bool is_terminal_;
};

}  // namespace paceline::base

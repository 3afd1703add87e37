#include "paceline/base/progress_line.h"

#include <cstdio>

#include <fmt/format.h>
#include <unistd.h>

namespace paceline::base {
namespace {

constexpr const char* kClearLine = "\r\033[2K";

}  // namespace

ProgressLine::ProgressLine() : is_terminal_(isatty(STDERR_FILENO) == 1) {}

ProgressLine::~ProgressLine() {
  if (is_terminal_) std::fputs(kClearLine, stderr);
}

void ProgressLine::say(std::string_view text) const {
  fmt::print(stderr, "{}{}{}", is_terminal_ ? kClearLine : "paceline: ", text,
             is_terminal_ ? "" : "\n");
  std::fflush(stderr);
}

}  // namespace paceline::base

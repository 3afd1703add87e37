#pragma once

#include <stdexcept>
#include <string>

#include <fmt/format.h>

namespace paceline::base {

/// What a paceline program returns. 128 + signal means "stopped by that signal".
enum class ExitCode : int {
  kOk = 0,
  kConfig = 2,
  kData = 3,
  kComm = 4,
  kCheckpoint = 5,
  kDiverged = 6,
  kInternal = 70,
};

/// The root of every exception that paceline throws on purpose. The type says who can mend it, and
/// the message says what was expected, what was got and the cure.
class Error : public std::runtime_error {
 public:
  Error(ExitCode exit_code, const std::string& message)
      : std::runtime_error(message), exit_code_(exit_code) {}
  ExitCode exit_code() const { return exit_code_; }

 private:
  ExitCode exit_code_;
};

/// The user's recipe, options or environment are wrong.
struct ConfigError : Error {
  explicit ConfigError(const std::string& message) : Error(ExitCode::kConfig, message) {}
};

/// A data set is missing, damaged or unreadable.
struct DataError : Error {
  explicit DataError(const std::string& message) : Error(ExitCode::kData, message) {}
};

/// A peer is lost, late or out of step. The communicator that threw it is unusable afterwards.
struct CommError : Error {
  explicit CommError(const std::string& message) : Error(ExitCode::kComm, message) {}
};

/// A checkpoint or another file of a run cannot be written, read or trusted.
struct CheckpointError : Error {
  explicit CheckpointError(const std::string& message) : Error(ExitCode::kCheckpoint, message) {}
};

/// The loss is not finite (the weights are those before that step), or the ranks' weights differ.
struct DivergedError : Error {
  explicit DivergedError(const std::string& message) : Error(ExitCode::kDiverged, message) {}
};

/// A defect of paceline itself: an invariant does not hold.
struct InternalError : Error {
  explicit InternalError(const std::string& message) : Error(ExitCode::kInternal, message) {}
};

[[noreturn]] inline void throw_check_failed(const char* condition, const char* file, int line,
                                            const std::string& message) {
  throw InternalError(fmt::format("{}:{}: {} ({} is false)", file, line, message, condition));
}

}  // namespace paceline::base

/// Throws InternalError unless `condition` holds; the rest is a fmt format string and its values.
#define PACELINE_CHECK(condition, ...)                                     \
  do {                                                                     \
    if (!(condition)) [[unlikely]]                                         \
      ::paceline::base::throw_check_failed(#condition, __FILE__, __LINE__, \
                                           fmt::format(__VA_ARGS__));      \
  } while (false)

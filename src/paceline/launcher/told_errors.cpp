#include "paceline/launcher/told_errors.h"

#include "paceline/base/error.h"
#include "paceline/base/file_status.h"

#include <cstdio>
#include <filesystem>

namespace paceline::launcher {

int exit_code_of(const std::function<int()>& work) {
  try {
    return work();
  } catch (const base::Error& error) {
    std::fprintf(stderr, "paceline: error: %s\n", error.what());
    return static_cast<int>(error.exit_code());
  } catch (const std::filesystem::filesystem_error& error) {
    const base::FileError told = base::file_error_of(error);
    std::fprintf(stderr, "paceline: error: %s\n", told.what());
    return static_cast<int>(told.exit_code());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "paceline: internal error: %s\n", error.what());
    return static_cast<int>(base::ExitCode::kInternal);
  }
}

}  // namespace paceline::launcher

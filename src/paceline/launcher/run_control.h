#pragma once

#include <string>
#include <vector>

namespace paceline::launcher {

/// `paceline logs [-f] RUN`: prints a detached run's launcher.log; -f follows it to the run's end.
int run_logs(const std::string& name, const std::vector<std::string>& arguments);

/// `paceline stop [--timeout SECONDS] RUN`: SIGTERM, then waits for the end. Returns 0 once the run
/// has ended; throws CommError that says what to do if it has not within the time.
int run_stop(const std::string& name, const std::vector<std::string>& arguments);

}  // namespace paceline::launcher

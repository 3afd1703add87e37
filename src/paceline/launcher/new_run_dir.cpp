#include "paceline/launcher/new_run_dir.h"

#include "paceline/base/error.h"
#include "paceline/base/file.h"
#include "paceline/launch/environment.h"
#include "paceline/launch/outcome.h"
#include "paceline/launch/rank_process.h"
#include "paceline/launch/supervised_rank.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace paceline::launcher {
namespace {

namespace fs = std::filesystem;

std::string read_to_end(int descriptor) {
  std::string text;
  std::array<char, 4096> buffer;
  while (true) {
    const ssize_t size = read(descriptor, buffer.data(), buffer.size());
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return text;
    text.append(buffer.data(), static_cast<std::size_t>(size));
  }
}

struct Answer {
  std::string text;
  int status = 0;  ///< as waitpid gives it
};

/// What a program prints on standard output; on standard error it speaks itself.
Answer ask(const std::vector<std::string>& command) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0)
    throw base::InternalError(fmt::format("cannot make a pipe: {}", std::strerror(errno)));
  const launch::Descriptor answers(ends[0]);
  launch::Descriptor to_program(ends[1]);
  launch::RankStart start{.command = command,
                          .environment = launch::Environment::of_process(),
                          .stdout_descriptor = to_program.get()};
  sigprocmask(SIG_SETMASK, nullptr, &start.signal_mask);
  auto* const old_sigchld = std::signal(SIGCHLD, SIG_DFL);  // one that is ignored hides the status
  const pid_t pid = launch::spawn_rank(start);
  to_program.reset();
  Answer answer{.text = read_to_end(answers.get())};
  answer.status = launch::reap_child(pid, 0).value();
  std::signal(SIGCHLD, old_sigchld);
  return answer;
}

/// Durably: rank 0 takes what it finds there for durable. Of several runs that start in one second
/// each gets its own.
fs::path make_own_folder(const fs::path& wanted) try {
  base::RealFileSystem files;
  const fs::path parent = fs::absolute(wanted).lexically_normal().parent_path();
  base::create_durable_directories(files, parent);
  fs::path path = wanted;
  for (int number = 2; mkdir(path.c_str(), 0777) != 0; ++number) {
    if (errno != EEXIST) throw base::FileError("make", path, errno);
    path = fmt::format("{}-{}", wanted.string(), number);
  }
  files.sync_directory(parent);
  return path;
} catch (const base::FileError& error) {
  throw base::CheckpointError(fmt::format("{}; give another run.dir, or --run-dir", error.what()));
}

}  // namespace

// Only the rank program can tell: it knows what keys a recipe may have, what their defaults are and
// what overrides do, and the launcher stays free of all that.
NewRunDir make_new_run_dir(const std::vector<std::string>& command) {
  std::vector<std::string> question = command;
  question.emplace_back("--print-run-dir");
  const Answer answer = ask(question);
  const int code = launch::exit_code_of_status(answer.status);
  if (WIFSIGNALED(answer.status))
    throw base::Error(static_cast<base::ExitCode>(code),
                      fmt::format("{} was to name the run directory, but it was {}", command[0],
                                  launch::describe_status(answer.status)));
  if (code != 0) return {.path = {}, .exit_code = code};
  std::string name = answer.text;
  if (name.ends_with('\n')) name.pop_back();
  if (name.empty())
    throw base::InternalError(fmt::format("{} did not name the run directory", command[0]));
  return {.path = make_own_folder(name)};
}

}  // namespace paceline::launcher

#include "paceline/data/ct/plugin/decoder_process.h"

#include "paceline/data/ct/plugin/dicom_file.h"

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <new>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace paceline::data {
namespace {

/// A child that dies must neither speak nor leave a core, and must not outlive its parent.
void become_decoder(unsigned limit_s) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  for (const int signal : {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTERM, SIGINT, SIGXCPU})
    std::signal(signal, SIG_DFL);
  const rlimit no_core{.rlim_cur = 0, .rlim_max = 0};
  setrlimit(RLIMIT_CORE, &no_core);
  const rlimit time{.rlim_cur = limit_s, .rlim_max = limit_s};
  setrlimit(RLIMIT_CPU, &time);
  const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  if (null >= 0) {
    dup2(null, STDOUT_FILENO);
    dup2(null, STDERR_FILENO);
  }
}

}  // namespace

SharedBytes::SharedBytes(std::size_t size, const std::string& name) : size_(size) {
  void* const memory =
      mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    refuse_dicom(name, fmt::format("needs {} bytes of memory to be decoded: {}; use fewer threads",
                                   size, std::strerror(errno)));
  begin_ = static_cast<char*>(memory);
}

SharedBytes::~SharedBytes() { munmap(begin_, size_); }

std::size_t call_in_child(std::size_t count, unsigned limit_s, const std::string& name,
                          const std::function<bool(std::size_t)>& work) {
  const SharedBytes shared(sizeof(std::atomic<std::size_t>), name);
  auto* const done = new (shared.bytes().data()) std::atomic<std::size_t>(0);
  const pid_t child = fork();
  if (child < 0)
    refuse_dicom(name, fmt::format("cannot be decoded: no process for it: {}; use fewer threads",
                                   std::strerror(errno)));
  if (child == 0) {
    become_decoder(limit_s);
    try {
      for (std::size_t i = 0; i < count && work(i); ++i) done->store(i + 1);
    } catch (...) {
      _exit(1);
    }
    _exit(0);
  }
  while (waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
  return done->load();
}

}  // namespace paceline::data

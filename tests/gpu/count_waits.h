#pragma once

#include "paceline/base/plugin_path.h"
#include "paceline/tensor/aten.h"

#include <functional>
#include <stdexcept>
#include <string>

#include <c10/util/Exception.h>
#include <dlfcn.h>

namespace paceline::test {

/// Counts LibTorch's warnings of calls that wait for the GPU; others it hands on.
class WaitCounter final : public c10::WarningHandler {
 public:
  void process(const c10::Warning& warning) override {
    if (warning.msg().find("synchronizing CUDA operation") == std::string::npos)
      return c10::WarningHandler::process(warning);
    ++num_waits;
  }
  int num_waits = 0;
};

/// How often `work`, on this thread, makes LibTorch wait for the GPU. Waits for events are none of
/// it: LibTorch does not watch them.
inline int count_waits(const std::function<void()>& work) {
  const auto path = base::plugin_path("PACELINE_GPU_WAIT_WATCH", "libgpu_wait_watch.so");
  void* library = dlopen(path.c_str(), RTLD_NOW);
  if (library == nullptr) throw std::runtime_error(dlerror());
  auto* warn_of_waits =
      reinterpret_cast<void (*)(int)>(dlsym(library, "paceline_warn_of_waits"));  // NOLINT
  if (warn_of_waits == nullptr) throw std::runtime_error(path.string() + " is of another version");
  WaitCounter counter;
  warn_of_waits(1);
  try {
    const c10::WarningUtils::WarningHandlerGuard guard(&counter);
    work();
  } catch (...) {
    warn_of_waits(0);
    throw;
  }
  warn_of_waits(0);
  return counter.num_waits;
}

}  // namespace paceline::test

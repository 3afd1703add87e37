#pragma once

#include "paceline/tensor/aten.h"

namespace paceline::test {

/// LibTorch computes with one thread while it lives: sums have one order then. Restores the number
/// of threads, which other tests share.
class OneThread {
 public:
  OneThread() : before_(at::get_num_threads()) { at::set_num_threads(1); }
  ~OneThread() { at::set_num_threads(before_); }
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  int before_;
};

}  // namespace paceline::test

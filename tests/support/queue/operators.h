#pragma once

namespace paceline::test {

/// Makes HPU, which no LibTorch has operators for, the fake GPU ("hpu:0"): allocator, streams, and
/// operators, which are the CPU's. Once for a process.
void register_fake_gpu();

}  // namespace paceline::test

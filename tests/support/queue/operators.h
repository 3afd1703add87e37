#pragma once

namespace paceline::test {

/// Makes PrivateUse1 the fake GPU ("fakegpu:0"): allocator, streams, and operators, which are the
/// CPU's. Once for a process.
void register_fake_gpu();

}  // namespace paceline::test

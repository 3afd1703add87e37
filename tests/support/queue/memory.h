#pragma once

namespace paceline::test {

/// The fake GPU's memory, devices and streams, and the operators that lay tensors out.
void register_memory();

}  // namespace paceline::test

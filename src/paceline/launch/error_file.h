#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace paceline::launch {

/// Where a rank says in its last moment why it failed: the file that torchrun names in the
/// environment, in the format of torch.distributed.elastic.multiprocessing.errors, which programs
/// under torchrun's @record write too.
inline constexpr std::string_view kErrorFileVariable = "TORCHELASTIC_ERROR_FILE";

/// Writes the file if the environment names one. Throws nothing: the process ends by a worse error.
void write_error_file(std::string_view message) noexcept;

/// The message of such a file; nothing if there is none or it holds something else.
std::optional<std::string> read_error_file(const std::filesystem::path& path);

}  // namespace paceline::launch

#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace paceline::pretrained {

/// Timm's own description of a model in a repository.
inline constexpr std::string_view kConfigFile = "config.json";

/// Which of a repository's files hold its weights: what its config.json names (timm's
/// `hf_hub_filename`; "" if it names none), model.safetensors, model.safetensors.index.json, or
/// pytorch_model.bin, the first of them that is there; else its one file of weights. Nothing if
/// there is none, or it is not clear which.
std::optional<std::string> choose_weight_file(std::span<const std::string> files,
                                              const std::string& named_by_config);
/// Throws ConfigError that names what was looked for and what there is; `where` is the repository.
[[noreturn]] void refuse_repository(const std::string& where, std::span<const std::string> files,
                                    const std::string& named_by_config);

/// The name by timm's config.json; "" if it names none. Throws DataError.
std::string weight_file_in_config(const std::filesystem::path& config);

/// The files that model.safetensors.index.json spreads the weights over, sorted. Throws DataError.
std::vector<std::string> shards_in_index(const std::filesystem::path& index);

/// Whether a file is such an index.
bool is_index(std::string_view file);

/// A file beside another one, by its path in the repository.
std::string beside(const std::string& file, const std::string& other);

}  // namespace paceline::pretrained

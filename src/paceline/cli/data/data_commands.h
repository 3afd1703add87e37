#pragma once

#include "paceline/app/recipe/builtin.h"

#include <string>
#include <string_view>
#include <vector>

namespace paceline::cli {

/// One command below `paceline data`.
struct DataCommand {
  std::string_view name;
  std::string_view summary;
  /// `arguments` are those after the command's name. Returns the exit code; throws base::Error.
  int (*run)(const std::vector<std::string>& arguments, const app::Registries& registries);
};

int run_data_prepare(const std::vector<std::string>& arguments, const app::Registries& registries);
/// `data prepare ct`.
int run_data_prepare_ct(const std::vector<std::string>& arguments,
                        const app::Registries& registries);
int run_data_synth(const std::vector<std::string>& arguments, const app::Registries& registries);
int run_data_info(const std::vector<std::string>& arguments, const app::Registries& registries);
int run_data_show(const std::vector<std::string>& arguments, const app::Registries& registries);
int run_data_verify(const std::vector<std::string>& arguments, const app::Registries& registries);
int run_data_bench(const std::vector<std::string>& arguments, const app::Registries& registries);
int run_data_pack(const std::vector<std::string>& arguments, const app::Registries& registries);
int run_data_subset(const std::vector<std::string>& arguments, const app::Registries& registries);

}  // namespace paceline::cli

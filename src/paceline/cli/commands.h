#pragma once

#include "paceline/app/recipe/builtin.h"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace paceline::cli {

/// One verb of paceline-rank; usage and summary are in the launcher's table.
struct Command {
  std::string_view name;
  /// `arguments` are those after the verb, `registries` what recipes can name. Returns the exit
  /// code; throws base::Error, CLI::Error.
  int (*run)(const std::vector<std::string>& arguments, const app::Registries& registries);
};

/// What paceline-rank serves of the launcher's table.
std::span<const Command> commands();

/// What a program of one's own says of itself, which has these commands.
std::string program_help(std::string_view program);

int run_train(const std::vector<std::string>& arguments, const app::Registries& registries);
int run_eval(const std::vector<std::string>& arguments, const app::Registries& registries);
int run_predict(const std::vector<std::string>& arguments, const app::Registries& registries);
int run_export(const std::vector<std::string>& arguments, const app::Registries& registries);
int run_config(const std::vector<std::string>& arguments, const app::Registries& registries);
int run_list(const std::vector<std::string>& arguments, const app::Registries& registries);
int run_data(const std::vector<std::string>& arguments, const app::Registries& registries);
int run_lr_find(const std::vector<std::string>& arguments, const app::Registries& registries);
int run_batch_find(const std::vector<std::string>& arguments, const app::Registries& registries);
int run_info(const std::vector<std::string>& arguments, const app::Registries& registries);

/// Refuses options that other trainers know, saying what to write here, and secrets. To be called
/// on arguments that a command does not know. Throws ConfigError.
void refuse_foreign_options(const std::vector<std::string>& arguments,
                            const app::Registries& registries);

}  // namespace paceline::cli

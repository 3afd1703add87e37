#include "paceline/app/recipe/builtin.h"
#include "paceline/cli/command_line.h"
#include "paceline/cli/data/data_commands.h"
#include "paceline/cli/data/data_source.h"
#include "paceline/cli/data/packing.h"
#include "paceline/data/dataset/subset.h"

#include <optional>

namespace paceline::cli {

int run_data_subset(const std::vector<std::string>& arguments, const app::Registries& registries) {
  DataSource source;
  Packing packing;
  std::string size;
  std::optional<std::int64_t> val_size;
  std::uint64_t seed = 0;
  CLI::App app(
      "Write a part of a data set as a packed one, which `data: {name: packed, path: OUTPUT}` "
      "reads: the training samples that data.subset=SIZE trains on, every class with its share, "
      "and all validation samples.",
      "data subset");
  source.add_options(app, /*has_split=*/false);
  packing.add_options(app);
  app.add_option(
         "--size", size,
         "Training samples: tiny (1,000), small (10,000), medium (100,000), large (500,000) "
         "or a number")
      ->required();
  app.add_option("--val-size", val_size, "Validation samples, chosen likewise; left out: all")
      ->check(CLI::PositiveNumber);
  app.add_option("--seed", seed, "Two seeds choose two parts")->capture_default_str();
  if (!parse_arguments(app, arguments, registries)) return 0;
  const data::PackOptions options = packing.options();
  refuse_source_as_output(source.source, packing.output);
  source.overrides.push_back("data.subset=" + size);
  source.overrides.push_back(fmt::format("data.subset_seed={}", seed));
  pack_split(*source.open(registries), "train", packing.output, options);
  source.split = "val";
  auto val = source.open(registries);
  if (val_size) val = data::make_subset(std::move(val), *val_size, seed);
  pack_split(*val, "val", packing.output, options);
  return 0;
}

}  // namespace paceline::cli

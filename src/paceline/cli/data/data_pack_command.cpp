#include "paceline/app/recipe/builtin.h"
#include "paceline/cli/command_line.h"
#include "paceline/cli/data/data_commands.h"
#include "paceline/cli/data/data_source.h"
#include "paceline/cli/data/packing.h"
#include "paceline/data/loader/shuffled_dataset.h"

#include <optional>

namespace paceline::cli {

int run_data_pack(const std::vector<std::string>& arguments, const app::Registries& registries) {
  DataSource source;
  Packing packing;
  std::string split = "all";
  std::optional<std::uint64_t> shuffle_seed;
  bool skips_check = false;
  bool skips_damaged = false;
  CLI::App app(
      "Write a data set as a packed one: the same samples, labels and names in a few large, "
      "verified files, which `data: {name: packed, path: OUTPUT}` reads. An interrupted call goes "
      "on where it was. With data.subset=SIZE only that many training samples.",
      "data pack");
  source.add_options(app, /*has_split=*/false);
  packing.add_options(app);
  app.add_option("--split", split, "Which part")
      ->check(CLI::IsMember({"all", "train", "val"}))
      ->capture_default_str();
  app.add_option("--shuffle", shuffle_seed,
                 "Write training samples in an order drawn by this seed, for block_shuffle");
  app.add_flag("--no-check", skips_check, "Do not decode files to find damaged ones");
  app.add_flag("--skip-damaged", skips_damaged,
               "Leave damaged samples out, and list them, instead of stopping");
  if (!parse_arguments(app, arguments, registries)) return 0;
  data::PackOptions options = packing.options();
  refuse_source_as_output(source.source, packing.output);
  options.checks_files = !skips_check;
  options.skips_damaged = skips_damaged;
  for (const char* each : {"train", "val"}) {
    if (split != "all" && split != each) continue;
    source.split = each;
    auto dataset = source.open(registries);
    if (shuffle_seed && source.split == "train")
      dataset = data::shuffled(std::move(dataset), *shuffle_seed);
    pack_split(*dataset, each, packing.output, options);
  }
  return 0;
}

}  // namespace paceline::cli

#include "paceline/config/load.h"

#include "paceline/base/file.h"
#include "unit/config/test_recipe.h"

#include <gtest/gtest.h>

namespace paceline::config::test {
namespace {

class LoadTest : public ::testing::Test {
 protected:
  std::filesystem::path write(const std::string& name, const std::string& text) {
    const std::filesystem::path path = folder_.path() / name;
    files_.create_directories(path.parent_path());
    base::write_file_atomically(files_, path, text);
    return path;
  }
  Loaded<Recipe> load_file(const std::filesystem::path& path,
                           std::vector<std::string> overrides = {}) {
    return load<Recipe>(path, overrides, catalogs().context());
  }
  /// The message with the temporary folder cut out.
  std::string message_of(const std::filesystem::path& path,
                         std::vector<std::string> overrides = {}) {
    std::string message = error_of([&] { load_file(path, overrides); });
    const std::string prefix = folder_.path().string() + "/";
    for (std::size_t at; (at = message.find(prefix)) != message.npos;)
      message.erase(at, prefix.size());
    return message;
  }

  base::TempDir folder_;
  base::RealFileSystem files_;
};

TEST_F(LoadTest, LaterWinsOverEarlier) {
  write("base/a.yaml",
        "optimizer: {lr: 1, momentum: 0.5}\nrun: {seed: 1, name: a}\ndata: {path: a}\n");
  write("base/b.yaml", "extends: a.yaml\noptimizer: {lr: 2}\nalgorithms: {mixup: {alpha: 1}}\n");
  const auto path =
      write("r.yaml", "extends: [base/a.yaml, base/b.yaml]\nrun: {seed: 3}\nalgorithms: {ema: }\n");
  const Loaded<Recipe> loaded = load_file(path, {"optimizer.momentum=0.25", "run.name=c"});
  EXPECT_EQ(loaded.value.optimizer.as<SgdOptions>().lr, 2);
  EXPECT_EQ(loaded.value.optimizer.as<SgdOptions>().momentum, 0.25);
  EXPECT_EQ(loaded.value.run.seed, 3u);
  EXPECT_EQ(loaded.value.run.name, "c");
  EXPECT_EQ(loaded.value.algorithms.size(), 2u);
  EXPECT_EQ(loaded.value.train.grad_accum_steps, 1);
  EXPECT_EQ(loaded.written.find("extends"), nullptr);
  EXPECT_EQ(loaded.written.find_path("optimizer.lr")->position.to_string(),
            (folder_.path() / "base/b.yaml:2").string());
  EXPECT_EQ(loaded.written.find_path("run.name")->position.to_string(), "command line: run.name=c");
}

TEST_F(LoadTest, AnotherComponentInheritsNothing) {
  write("a.yaml", "optimizer: {momentum: 0.5}\ndata: {path: x, global_batch_size: 8}\n");
  const auto path =
      write("r.yaml", "extends: a.yaml\noptimizer: {name: adamw, lr: 0.5}\ndata: {name: cifar}\n");
  const Recipe recipe = load_file(path).value;
  EXPECT_EQ(recipe.optimizer.as<AdamWOptions>().lr, 0.5);
  EXPECT_EQ(recipe.data.source.name, "cifar");
  EXPECT_EQ(recipe.data.global_batch_size, 8);
}

TEST_F(LoadTest, JsonExtendsYaml) {
  write("a.yaml", "data: cifar\n");
  const auto path = write("r.json", "{\"extends\": \"a.yaml\", // base\n \"run\": {\"seed\": 5}}");
  EXPECT_EQ(load_file(path).value.run.seed, 5u);
}

TEST_F(LoadTest, NamesTheFileAndLineOfAMistake) {
  EXPECT_EQ(message_of(write("none.yaml", "run: {seed: 1}\nextends: [gone.yaml]\n")),
            "none.yaml:2: extends: cannot read gone.yaml: No such file or directory; check the "
            "spelling of "
            "the path");
  EXPECT_EQ(message_of(write("map.yaml", "extends: {a: b}\n")),
            "map.yaml:1: extends: must be a file or a list of files, got the map {a: b}");
  write("b.yaml", "extends: c.yaml\n");
  EXPECT_EQ(message_of(write("c.yaml", "extends: b.yaml\n")),
            "b.yaml:1: extends: c.yaml extends itself in a circle; remove this line");
  EXPECT_EQ(message_of(folder_.path() / "zzz.yaml"),
            "cannot read zzz.yaml: No such file or directory; check the spelling of the path");
  write("bad.yaml", "data: cifar\nrun:\n  seed: x\n");
  EXPECT_EQ(message_of(write("good.yaml", "extends: bad.yaml\n")),
            "bad.yaml:3: run.seed: must be an integer, got 'x'");
}

TEST_F(LoadTest, OverridesAndFilesAreJudgedTogether) {
  const auto path = write("r.yaml", "data: cifar\nrun: {seed: x}\n");
  EXPECT_EQ(
      message_of(path, {"optimizer.lr=-1", "+run.seed=2", "algorithms.ema.half_life=3ba", "oops"}),
      R"(5 problems in the configuration:
  command line: +run.seed=2: run.seed: is there already (r.yaml:2): write run.seed=..., or ++run.seed=... for either case
  command line: algorithms.ema.half_life=3ba: algorithms.ema.half_life: there is no algorithms.ema in the recipe: to add it write +algorithms.ema.half_life
  command line: oops: an override is section.key=value, +section.key=value to add or ~section.key to remove
  r.yaml:2: run.seed: must be an integer, got 'x'
  command line: optimizer.lr=-1: optimizer.lr: must be at least 0, got -1)");
}

}  // namespace
}  // namespace paceline::config::test

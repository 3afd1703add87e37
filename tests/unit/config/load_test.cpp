#include "paceline/config/load.h"

#include "paceline/base/file.h"
#include "unit/config/test_recipe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

namespace paceline::config::test {
namespace {

using testing::HasSubstr;
using testing::Not;

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

TEST_F(LoadTest, WhatAProgramPutsOnTopReplacesTheUsersOverrides) {
  const auto path = write("r.yaml", "data: {path: x}\nrun: {seed: 1}\n");
  const Overrides overrides({"run.seed=2", "optimizer.momentum=0.5"},
                            {"run.seed=3", "optimizer=adamw"});
  const auto loaded = load<Recipe>(path, overrides, catalogs().context());
  EXPECT_EQ(loaded.value.run.seed, 3u);
  EXPECT_EQ(loaded.value.optimizer.name, "adamw");
}

TEST_F(LoadTest, OverridesAndFilesAreJudgedTogether) {
  const auto path = write("r.yaml", "data: cifar\nrun: {seed: x}\n");
  EXPECT_EQ(
      message_of(path, {"optimizer.lr=-1", "+run.seed=2", "algorithms.ema.half_life=3ba", "oops"}),
      R"(5 problems in the configuration:
  command line: oops: an override is section.key=value, +section.key=value to add or ~section.key to remove
  command line: +run.seed=2: run.seed: is there already (r.yaml:2): write run.seed=..., or ++run.seed=... for either case
  command line: algorithms.ema.half_life=3ba: algorithms.ema.half_life: there is no algorithms.ema in the recipe: to add it write +algorithms.ema.half_life
  r.yaml:2: run.seed: must be an integer, got 'x'
  command line: optimizer.lr=-1: optimizer.lr: must be at least 0, got -1)");
}

// What a stranger's recipe can hold. Each ends at once, in one line.

TEST_F(LoadTest, FilesThatExtendEachOtherTwiceEndAtABound) {
  write("0.yaml", "run: {seed: 1}\ndata: {path: x}\n");
  for (int i = 1; i <= 25; ++i) {
    write(fmt::format("{}.yaml", i), fmt::format("extends: [{0}.yaml, {0}.yaml]\n", i - 1));
  }
  EXPECT_THAT(message_of(folder_.path() / "25.yaml"), HasSubstr("more than 100 files"));
  EXPECT_EQ(load_file(folder_.path() / "3.yaml").value.run.seed, 1u);
}

TEST_F(LoadTest, ReadsRegularFilesOnly) {
  ASSERT_EQ(mkfifo((folder_.path() / "pipe").c_str(), 0600), 0);
  for (const std::string name : {"/dev/zero", "pipe", "/", "/proc/self"}) {
    EXPECT_THAT(message_of(write("r.yaml", "extends: " + name + "\n")),
                HasSubstr("is no regular file"))
        << name;
  }
  EXPECT_THAT(message_of(folder_.path() / "pipe"), HasSubstr("is a pipe"));
  EXPECT_THAT(message_of("/dev/zero"), HasSubstr("is a device"));
  EXPECT_THAT(message_of(write("r.yaml", "extends: " + std::string(5000, 'x') + "\n")),
              HasSubstr("File name too long"));
}

TEST_F(LoadTest, QuotesNothingOfAFileThatIsNoRecipe) {
  write("passwd", "root:x:0:0:root:/root:/bin/bash\ndaemon:x:1:1:secret\n");
  write("list", "- secret\n");
  write("broken", "secret: [1\n");
  write("twice", "? {secret: 1}\n: secret\n");
  for (const std::string name : {"passwd", "list", "broken", "twice"}) {
    const std::string message = message_of(write("r.yaml", "extends: " + name + "\n"));
    EXPECT_THAT(message, HasSubstr(name));
    EXPECT_THAT(message, Not(HasSubstr("secret")));
    EXPECT_THAT(message, Not(HasSubstr("root")));
    EXPECT_THAT(message, Not(HasSubstr("\n")));
  }
}

TEST_F(LoadTest, OverridesHaveTheSameBounds) {
  const auto path = write("r.yaml", "run: {seed: 1}\ndata: {path: x}\n");
  const std::string deep = std::string(2000, '[') + std::string(2000, ']');
  EXPECT_THAT(message_of(path, {"run.seed=" + deep}), HasSubstr("nested more than"));
  std::string wide = "[1";
  for (int i = 0; i < 50'000; ++i) wide += ",1";
  const std::string message = message_of(path, {"run.seed=" + wide + "]"});
  EXPECT_THAT(message, HasSubstr("more than 20000 values"));
  EXPECT_LT(message.size(), 1000u);
  EXPECT_THAT(message_of(path, {"run.seed=&a [*a]"}), HasSubstr("alias"));
  EXPECT_THAT(message_of(path, {"run.name=\"a\\0b\""}), HasSubstr("\\x00"));
  EXPECT_THAT(message_of(path, {std::string(5000, 'a') + "=1"}), HasSubstr("no such key"));
  std::string dots = "a";
  for (int i = 0; i < 50'000; ++i) dots += ".a";
  EXPECT_THAT(message_of(path, {dots + "=1"}), HasSubstr("40 parts"));
}

}  // namespace
}  // namespace paceline::config::test

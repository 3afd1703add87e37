#include "paceline/base/sync_all.h"

#include "support/faulty_file_system.h"
#include "support/power_loss_file_system.h"

#include <cerrno>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::base {
namespace {

namespace fs = std::filesystem;

TEST(SyncAll, WhatLiesBelowAFolderSurvivesAPowerLoss) {
  test::expect_durable({.prepare = [](const fs::path& root) { fs::create_directory(root / "a"); },
                        .run =
                            [](test::PowerLossFileSystem& files, const fs::path& root) {
                              files.create_directories(root / "a/b");
                              for (const char* path : {"a/x", "a/b/y"})
                                files.create(root / path)->write("text");
                              sync_all(files, root / "a");
                              files.expect([](const fs::path& disk) {
                                const bool is_whole = fs::exists(disk / "a/b/y") &&
                                                      read_file(disk / "a/x") == "text" &&
                                                      read_file(disk / "a/b/y") == "text";
                                return is_whole ? "" : "something is lost";
                              });
                            }});
}

TEST(SyncAll, TellsWhatWentWrong) {
  const TempDir folder;
  test::FaultyFileSystem files;
  EXPECT_THROW(sync_all(files, folder.path() / "none"), FileError);
  files.create(folder.path() / "x");
  files.set_fault([](std::string_view operation, const fs::path& path) {
    return operation == "sync" && path.filename() == "x" ? EIO : 0;
  });
  EXPECT_THROW(sync_all(files, folder.path()), FileError);
}

}  // namespace
}  // namespace paceline::base

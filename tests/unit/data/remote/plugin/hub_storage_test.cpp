// Through the plug-in, of which it is part.
#include "paceline/data/remote/plugin/hub_storage.h"

#include "paceline/base/error.h"
#include "paceline/base/file.h"
#include "paceline/data/parquet/parquet_dataset.h"
#include "paceline/data/remote/remote_plugin.h"
#include "paceline/data/remote/remote_storage.h"
#include "paceline/data/sources/dataset_name.h"
#include "support/data/fake_storage.h"
#include "support/data/http_server.h"
#include "support/data/parquet_files.h"
#include "support/temp_folder.h"

#include <atomic>
#include <cstdlib>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::data {
namespace {

using paceline::test::HttpAnswer;
using paceline::test::HttpQuestion;
using paceline::test::HttpServer;
using paceline::test::serve_range;
using paceline::test::TempFolder;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::ThrowsMessage;

const std::string kCommit = "0123456789abcdef0123456789abcdef01234567";
const std::string kApi = "/api/datasets/some/photos";

/// Variables of the environment for as long as it lives; an empty value stands for none.
class HubEnvironment {
 public:
  explicit HubEnvironment(const std::map<std::string, std::string>& values) {
    for (const char* name :
         {"HF_ENDPOINT", "HF_TOKEN", "HF_TOKEN_PATH", "HF_HOME", "XDG_CACHE_HOME"}) {
      const char* const before = std::getenv(name);
      before_[name] = before == nullptr ? "" : before;
      const auto now = values.find(name);
      set(name, now == values.end() ? "" : now->second);
    }
  }
  ~HubEnvironment() {
    for (const auto& [name, value] : before_) set(name, value);
  }
  HubEnvironment(const HubEnvironment&) = delete;
  HubEnvironment& operator=(const HubEnvironment&) = delete;

 private:
  static void set(const std::string& name, const std::string& value) {
    value.empty() ? unsetenv(name.c_str()) : setenv(name.c_str(), value.c_str(), 1);
  }
  std::map<std::string, std::string> before_;
};

std::unique_ptr<const Storage> open_hub(const HttpServer& server, const std::string& token = {}) {
  const TempFolder empty;
  const HubEnvironment environment(
      {{"HF_ENDPOINT", server.url("/")}, {"HF_TOKEN", token}, {"HF_HOME", empty.path().string()}});
  return load_remote_plugin().open_storage("hf", {.timeout = 5});
}

std::string authorization(const HttpQuestion& question) {
  const auto found = question.headers.find("authorization");
  return found == question.headers.end() ? "" : found->second;
}

// A folder of two pages; files that lie on another host, which must not see the token.
TEST(HubStorage, ListsAndReadsOneCommit) {
  std::atomic<int> asked_commit = 0;
  std::atomic<bool> has_token_gone = false;
  HttpServer store([&](const HttpQuestion& question) {
    if (!authorization(question).empty()) has_token_gone = true;
    return serve_range(question, question.target == "/a" ? "0123456789" : "x", "\"any\"");
  });
  HttpServer hub([&](const HttpQuestion& question) -> HttpAnswer {
    if (authorization(question) != "Bearer secret") return {500};
    if (question.target == kApi + "/revision/main") {
      ++asked_commit;
      return {200, {}, "{\"sha\": \"" + kCommit + "\"}"};
    }
    if (question.target == kApi + "/tree/" + kCommit + "/data%20x")
      return {200,
              {{"Link", "<https://other.example" + kApi + "/tree/" + kCommit +
                            "/data%20x?cursor=2>; rel=\"next\""}},
              R"([{"type": "file", "oid": "11", "size": 10, "path": "data x/a.parquet"}])"};
    if (question.target == kApi + "/tree/" + kCommit + "/data%20x?cursor=2")
      return {200,
              {{"Link", "<https://other.example/first>; rel=\"first\""}},
              R"([{"type": "directory", "oid": "22", "size": 0, "path": "data x/more"},
                  {"type": "file", "oid": "33", "size": 134, "path": "data x/b.parquet",
                   "lfs": {"oid": "44", "size": 1, "pointerSize": 134}}])"};
    if (question.target == "/datasets/some/photos/resolve/" + kCommit + "/data%20x/a.parquet")
      return {302, {{"Location", store.url("/a")}}};
    return {404, {{"X-Error-Code", "EntryNotFound"}}};
  });
  const auto storage = open_hub(hub, "secret");
  const std::vector<FileEntry> entries = storage->list("hf:some/photos/data x");
  ASSERT_EQ(entries.size(), 3u);
  EXPECT_EQ(entries[0].name, "a.parquet");
  EXPECT_EQ(entries[0].facts.size, 10u);
  EXPECT_LT(entries[0].facts.changed, 0);
  EXPECT_NE(entries[0].facts.changed, entries[1].facts.changed);
  EXPECT_EQ(entries[1].name, "b.parquet");
  EXPECT_TRUE(entries[2].facts.is_folder);
  for (const char* path :
       {"hf:some/photos/data x/a.parquet", "hf:datasets/some/photos/data x/a.parquet",
        "hf://datasets/some/photos@main/data x/a.parquet"}) {
    EXPECT_EQ(storage->facts(path), entries[0].facts) << path;
    const auto file = storage->open(path);
    EXPECT_EQ(file->path(), path);
    EXPECT_EQ(test::read_text(*file), "0123456789");
    EXPECT_EQ(test::read_text(*file), "0123456789");
  }
  EXPECT_EQ(storage->facts("hf:some/photos/data x/c.parquet"), std::nullopt);
  EXPECT_EQ(storage->facts("hf:some/photos/nothing/c.parquet"), std::nullopt);
  EXPECT_TRUE(storage->facts("hf:some/photos/data x/more")->is_folder);
  EXPECT_TRUE(storage->facts("hf:some/photos")->is_folder);
  EXPECT_THAT([&] { storage->list("hf:some/photos/nothing"); },
              ThrowsMessage<base::DataError>(HasSubstr("no such folder")));
  EXPECT_THAT([&] { storage->open("hf:some/photos/data x/c.parquet"); },
              ThrowsMessage<base::DataError>(HasSubstr("no such file")));
  EXPECT_THAT([&] { storage->open("hf:some/photos/data x/more"); },
              ThrowsMessage<base::DataError>(HasSubstr("is a folder")));
  EXPECT_EQ(asked_commit, 1);
  EXPECT_FALSE(has_token_gone);
}

TEST(HubStorage, AsksForTheRevisionOfThePath) {
  std::mutex mutex;
  std::set<std::string> asked;
  HttpServer hub([&](const HttpQuestion& question) -> HttpAnswer {
    const std::lock_guard lock(mutex);
    asked.insert(question.target);
    if (question.target.find("/tree/") != std::string::npos) return {200, {}, "[]"};
    return {200, {}, "{\"sha\": \"" + kCommit + "\"}"};
  });
  const auto storage = open_hub(hub);
  EXPECT_TRUE(storage->list("hf:some/photos@v1.0/").empty());
  EXPECT_TRUE(storage->list("hf:some/photos@refs/convert/parquet/default").empty());
  EXPECT_THAT(asked,
              ElementsAre(kApi + "/revision/refs%2Fconvert%2Fparquet", kApi + "/revision/v1.0",
                          kApi + "/tree/" + kCommit, kApi + "/tree/" + kCommit + "/default"));
}

/// What is said to somebody to whom the hub answers so.
std::string refusal_of(const HttpAnswer& answer, const std::string& token,
                       bool of_files_only = false) {
  HttpServer hub([&](const HttpQuestion& question) -> HttpAnswer {
    if (!of_files_only || question.target.find("/resolve/") != std::string::npos) return answer;
    if (question.target.find("/tree/") != std::string::npos)
      return {200, {}, R"([{"type": "file", "oid": "11", "size": 10, "path": "a.parquet"}])"};
    return {200, {}, "{\"sha\": \"" + kCommit + "\"}"};
  });
  try {
    open_hub(hub, token)->open("hf:some/photos/a.parquet");
    return "";
  } catch (const base::DataError& error) {
    EXPECT_THAT(error.what(), Not(HasSubstr("secret")));
    return error.what();
  }
}

TEST(HubStorage, ExplainsGating) {
  const HttpAnswer unknown{401, {{"X-Error-Code", "GatedRepo"}}, "Access is restricted."};
  const HttpAnswer not_granted{403, {{"X-Error-Code", "GatedRepo"}}, ""};
  for (const bool of_files_only : {false, true}) {
    EXPECT_THAT(
        refusal_of(unknown, "", of_files_only),
        AllOf(HasSubstr("hf:some/photos: "), HasSubstr("401"), HasSubstr("gated"),
              HasSubstr("/datasets/some/photos with your account"), HasSubstr("set HF_TOKEN")));
    EXPECT_THAT(refusal_of(not_granted, "secret", of_files_only),
                AllOf(HasSubstr("403"), HasSubstr("/datasets/some/photos"),
                      HasSubstr("The token that is set")));
  }
}

TEST(HubStorage, SaysWhatIsNotThere) {
  EXPECT_THAT(refusal_of({401, {{"X-Error-Code", "RepoNotFound"}}, ""}, ""),
              AllOf(HasSubstr("no such data set"), HasSubstr("private"), HasSubstr("HF_TOKEN")));
  EXPECT_THAT(refusal_of({404, {{"X-Error-Code", "RepoNotFound"}}, ""}, "secret"),
              HasSubstr("no such data set"));
  EXPECT_THAT(refusal_of({404, {{"X-Error-Code", "RevisionNotFound"}}, ""}, ""),
              HasSubstr("no revision 'main'"));
  EXPECT_THAT(refusal_of({200, {}, "<html>"}, ""), HasSubstr("no JSON"));
  EXPECT_THAT(refusal_of({200, {}, "{}"}, ""), HasSubstr("does not tell the commit"));
  EXPECT_THAT(refusal_of({200, {}, "{\"sha\": \"../x\"}"}, ""),
              HasSubstr("does not tell the commit"));
  EXPECT_THAT(refusal_of({503, {}, "busy"}, ""), HasSubstr("503"));
  HttpServer hub([](const HttpQuestion&) { return HttpAnswer{500}; });
  for (const char* path : {"hf:", "hf:photos", "hf:/photos", "hf:some/@main", "hf:some/photos@"}) {
    EXPECT_THAT([&] { open_hub(hub)->facts(path); },
                ThrowsMessage<base::DataError>(HasSubstr("expected hf:OWNER/NAME")))
        << path;
  }
}

TEST(HubStorage, FindsTheTokenAsHuggingFacesProgramsDo) {
  std::mutex mutex;
  std::string seen;
  HttpServer hub([&](const HttpQuestion& question) -> HttpAnswer {
    const std::lock_guard lock(mutex);
    seen = authorization(question);
    return {404};
  });
  const TempFolder folder;
  folder.write("huggingface/token", " of-cache\n");
  folder.write("home/token", "of-home");
  const std::string file = folder.write("elsewhere", "of-file\n").string();
  const std::string home = (folder.path() / "home").string();
  const auto token_with = [&](std::map<std::string, std::string> values) {
    values["HF_ENDPOINT"] = hub.url("");
    const HubEnvironment environment(values);
    EXPECT_THROW(load_remote_plugin().open_storage("hf", {.timeout = 5})->facts("hf:a/b"),
                 base::DataError);
    const std::lock_guard lock(mutex);
    return seen;
  };
  EXPECT_EQ(token_with({{"HF_TOKEN", "mine\n"}, {"HF_TOKEN_PATH", file}, {"HF_HOME", home}}),
            "Bearer mine");
  EXPECT_EQ(token_with({{"HF_TOKEN_PATH", file}, {"HF_HOME", home}}), "Bearer of-file");
  EXPECT_EQ(token_with({{"HF_HOME", home}, {"XDG_CACHE_HOME", folder.path().string()}}),
            "Bearer of-home");
  EXPECT_EQ(token_with({{"XDG_CACHE_HOME", folder.path().string()}}), "Bearer of-cache");
  EXPECT_EQ(token_with({{"HF_HOME", (folder.path() / "absent").string()}}), "");
}

// All the way: from the path in a recipe to an image, by an index that is kept.
TEST(HubStorage, HoldsParquetDataSets) {
  const std::filesystem::path golden = std::filesystem::path(PACELINE_GOLDEN_DIR) / "parquet";
  const std::string content = base::read_file(golden / "photos.parquet");
  const std::vector<ListedRow> rows = read_listing(golden / "listing.tsv").at("photos.parquet");
  const std::string file = "data/train-00000-of-00001.parquet";
  std::atomic<int> num_reads = 0;
  HttpServer hub([&](const HttpQuestion& question) -> HttpAnswer {
    const std::string tree = kApi + "/tree/" + kCommit;
    if (question.target == kApi + "/revision/main")
      return {200, {}, "{\"sha\": \"" + kCommit + "\"}"};
    if (question.target == tree)
      return {200, {}, R"([{"type": "directory", "oid": "1", "size": 0, "path": "data"}])"};
    if (question.target == tree + "/data")
      return {200,
              {},
              fmt::format(R"([{{"type": "file", "oid": "2", "size": {}, "path": "{}"}}])",
                          content.size(), file)};
    if (question.target == "/datasets/some/photos/resolve/" + kCommit + "/" + file) {
      ++num_reads;
      return serve_range(question, content, "\"etag\"");
    }
    return {404, {{"X-Error-Code", "EntryNotFound"}}};
  });
  const TempFolder cache;
  const HubEnvironment environment(
      {{"HF_ENDPOINT", hub.url("")}, {"XDG_CACHE_HOME", cache.path().string()}});
  ParquetConfig config;
  config.path = "hf:some/photos";
  int num_reads_before = 0;
  for (const bool has_index : {false, true}) {
    const auto storage = make_storage({.timeout = 5});
    EXPECT_EQ(dataset_name(config.path, storage), "parquet");
    const auto dataset = open(config, Split::kTrain, storage);
    EXPECT_TRUE(!has_index || num_reads == num_reads_before) << num_reads;
    ASSERT_EQ(dataset->size(), std::ssize(rows));
    StoredSample sample;
    for (std::int64_t i = 0; i < dataset->size(); ++i) {
      dataset->get(i, sample);
      EXPECT_EQ(listed_row(sample.label, dataset->name(i), sample.bytes),
                rows[static_cast<std::size_t>(i)]);
    }
    EXPECT_EQ(dataset->describe(6), "hf:some/photos/" + file + ": row 6 (n0_30_n0.JPEG)");
    EXPECT_THAT([&] { open(config, Split::kVal, storage); },
                ThrowsMessage<base::DataError>(
                    AllOf(HasSubstr("hf:some/photos/"), HasSubstr("set data.train_files"))));
    num_reads_before = num_reads;
  }
}

}  // namespace
}  // namespace paceline::data

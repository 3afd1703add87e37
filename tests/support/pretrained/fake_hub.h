#pragma once

#include "paceline/base/sha256.h"
#include "paceline/data/remote/hub_access.h"
#include "support/pretrained/fake_exchange.h"

#include <map>
#include <string>

#include <fmt/format.h>

namespace paceline::test {

/// The hub with one repository, some/net, as huggingface.co answers: large files lie on another
/// host. Its answers can be changed by whoever has it.
struct FakeHub {
  std::string endpoint = "https://hub";
  std::string store = "https://store";
  std::string commit = std::string(40, 'c');
  std::map<std::string, std::string> files;  ///< small ones
  std::map<std::string, std::string> large;  ///< by their SHA-256
  int refusal = 0;                           ///< the status of all answers, unless 0
  std::map<std::string, std::string> refusal_headers = {};

  static std::string sha256_of(const std::string& content) {
    base::Sha256Stream sum;
    sum.update(content);
    return sum.hex_digest();
  }

  FakeAnswer operator()(const data::HttpRequest& request) const {
    if (refusal != 0) return {refusal, refusal_headers, "no"};
    for (const auto& [name, content] : large) {
      const bool is_stored = request.url == store + "/" + sha256_of(content);
      const bool is_resolved = request.url == resolved(name);
      if (is_stored || (is_resolved && request.follows_redirects))
        return serve_file(request, content);
      if (is_resolved)
        return {302,
                {{"x-linked-etag", "\"" + sha256_of(content) + "\""},
                 {"x-linked-size", std::to_string(content.size())},
                 {"x-repo-commit", commit},
                 {"location", store + "/" + sha256_of(content)}}};
    }
    for (const auto& [name, content] : files)
      if (request.url == resolved(name))
        return serve_file(request, content, "W/\"" + sha256_of(content).substr(0, 40) + "\"");
    if (request.url.starts_with(endpoint + "/api/models/some/net/revision/"))
      return {200, {}, listing()};
    return {404, {{"x-error-code", "EntryNotFound"}}};
  }

 private:
  std::string resolved(const std::string& name) const {
    return fmt::format("{}/some/net/resolve/{}/{}", endpoint, commit, data::escape_url(name, true));
  }

  std::string listing() const {
    std::string names;
    for (const auto* part : {&files, &large})
      for (const auto& [name, content] : *part)
        names += fmt::format("{}{{\"rfilename\": \"{}\"}}", names.empty() ? "" : ", ", name);
    return fmt::format("{{\"sha\": \"{}\", \"siblings\": [{}]}}", commit, names);
  }
};

}  // namespace paceline::test

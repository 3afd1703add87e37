#include "paceline/config/parse.h"

#include "paceline/base/error.h"
#include "paceline/base/file.h"

#include <sstream>
#include <vector>

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

namespace paceline::config {
namespace {

class Converter {
 public:
  Converter(std::string source, bool has_lines)
      : source_(std::move(source)), has_lines_(has_lines) {}

  Node convert(const YAML::Node& yaml) const {
    Node node;
    switch (yaml.Type()) {
      case YAML::NodeType::Scalar:
        node = scalar(yaml);
        break;
      case YAML::NodeType::Sequence:
        node = Node::list();
        for (const YAML::Node& item : yaml) node.items.push_back(convert(item));
        break;
      case YAML::NodeType::Map:
        node = map(yaml);
        break;
      default:
        break;
    }
    node.position = position(yaml.Mark());
    return node;
  }

  Position position(const YAML::Mark& mark) const {
    return {source_, has_lines_ && !mark.is_null() ? mark.line + 1 : 0};
  }

  [[noreturn]] void fail(const YAML::Mark& mark, std::string_view text) const {
    throw base::ConfigError(fmt::format("{}: {}", position(mark).to_string(), text));
  }

 private:
  static Node scalar(const YAML::Node& yaml) {
    const std::string& text = yaml.Scalar();
    // yaml-cpp tags quoted scalars with "!" and bare ones with "?".
    const bool is_quoted = yaml.Tag() == "!";
    if (!is_quoted && (text.empty() || text == "~" || text == "null")) return {};
    return Node::scalar(text, is_quoted);
  }

  Node map(const YAML::Node& yaml) const {
    Node node = Node::map();
    for (const auto& entry : yaml) {
      if (!entry.first.IsScalar()) fail(entry.first.Mark(), "a key must be plain text");
      const std::string& key = entry.first.Scalar();
      if (key == "<<" && entry.first.Tag() != "!") {
        fail(entry.first.Mark(),
             "'<<' is not understood here; share sections between files with 'extends'");
      }
      if (const Node* first = node.find(key)) {
        fail(entry.first.Mark(),
             fmt::format("the key '{}' stands here twice (first in line {}); remove one", key,
                         first->position.line));
      }
      Node value = convert(entry.second);
      // yaml-cpp marks the absent value of `key:` where the next token stands.
      if (value.is_null()) value.position = position(entry.first.Mark());
      node.entries.push_back({key, std::move(value), position(entry.first.Mark())});
    }
    return node;
  }

  std::string source_;
  bool has_lines_;
};

/// Notes where each document begins.
class DocumentStarts final : public YAML::EventHandler {
 public:
  std::vector<YAML::Mark> marks;

  void OnDocumentStart(const YAML::Mark& mark) override { marks.push_back(mark); }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark&, YAML::anchor_t) override {}
  void OnAlias(const YAML::Mark&, YAML::anchor_t) override {}
  void OnScalar(const YAML::Mark&, const std::string&, YAML::anchor_t,
                const std::string&) override {}
  void OnSequenceStart(const YAML::Mark&, const std::string&, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {}
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark&, const std::string&, YAML::anchor_t,
                  YAML::EmitterStyle::value) override {}
  void OnMapEnd() override {}
};

// YAML::LoadAll is of no use here: to it a comma behind a document, as in `[1, 2],`, begins another
// one, and it never gets past the comma.
void require_one_document(const std::string& text, const Converter& converter) {
  std::istringstream stream(text);
  YAML::Parser parser(stream);
  DocumentStarts starts;
  while (starts.marks.size() < 2 && parser.HandleNextDocument(starts)) {
  }
  if (starts.marks.size() < 2) return;
  const YAML::Mark& second = starts.marks[1];
  const bool is_comma = text.substr(static_cast<std::size_t>(second.pos)).starts_with(',');
  converter.fail(second, is_comma ? "not valid YAML: a comma outside of [] and {}"
                                  : "a second YAML document begins; one file is one recipe");
}

Node parse(std::string_view text, std::string source, bool has_lines) {
  const Converter converter(std::move(source), has_lines);
  try {
    const std::string copy(text);
    require_one_document(copy, converter);
    return converter.convert(YAML::Load(copy));
  } catch (const YAML::Exception& error) {
    converter.fail(error.mark, fmt::format("not valid YAML: {}", error.msg));
  }
}

// Blanks out comments but keeps every newline, so that lines keep their numbers.
std::string without_comments(std::string_view text) {
  std::string result(text);
  for (std::size_t i = 0; i < text.size();) {
    if (text[i] == '"') {
      for (++i; i < text.size() && text[i] != '"'; ++i) {
        if (text[i] == '\\') ++i;
      }
      ++i;
      continue;
    }
    const std::string_view rest = text.substr(i);
    std::size_t length = 0;
    if (rest.starts_with("//")) length = std::min(rest.find('\n'), rest.size());
    if (rest.starts_with("/*")) {
      const std::size_t end = rest.find("*/", 2);
      length = end == rest.npos ? rest.size() : end + 2;
    }
    for (std::size_t j = i; j < i + length; ++j) {
      if (text[j] != '\n') result[j] = ' ';
    }
    i += std::max<std::size_t>(length, 1);
  }
  return result;
}

}  // namespace

Node parse_yaml(std::string_view text, std::string source) {
  return parse(text, std::move(source), /*has_lines=*/true);
}

Node parse_json(std::string_view text, std::string source) {
  std::string plain = without_comments(text);
  // YAML forbids tabs as indentation; JSON does not care.
  std::replace(plain.begin(), plain.end(), '\t', ' ');
  return parse_yaml(plain, std::move(source));
}

Node parse_value(std::string_view text, std::string source) {
  Node node = parse(text, source, /*has_lines=*/false);
  node.position = {std::move(source), 0};
  return node;
}

Node parse_file(const std::filesystem::path& path) {
  std::string text;
  try {
    text = base::read_file(path);
  } catch (const base::FileError& error) {
    throw base::ConfigError(error.what());
  }
  const std::string extension = path.extension().string();
  Node node = extension == ".json" || extension == ".jsonc" ? parse_json(text, path.string())
                                                            : parse_yaml(text, path.string());
  if (node.is_null()) {
    node = Node::map();
    node.position = {path.string(), 1};
  }
  if (!node.is_map()) {
    throw base::ConfigError(fmt::format("{}: a recipe is a map of sections, got {}",
                                        node.position.to_string(), node.describe()));
  }
  return node;
}

}  // namespace paceline::config

#include "paceline/config/parse.h"

#include "paceline/base/error.h"
#include "paceline/base/file.h"
#include "paceline/base/text.h"

#include <algorithm>
#include <map>
#include <optional>
#include <sstream>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

namespace paceline::config {
namespace {

// What a recipe may have: some hundred times what the largest has, and little enough that no recipe
// keeps a machine busy.
constexpr std::size_t kMostBytes = std::size_t{1} << 20;
constexpr std::size_t kMostNodes = 20'000;
constexpr std::size_t kMostKeys = 1'000;  // of one map; each is compared with all before it
constexpr std::size_t kDeepest = 40;

std::size_t num_nodes(const Node& node) {
  std::size_t count = 1;
  for (const Node& item : node.items) count += num_nodes(item);
  for (const MapEntry& entry : node.entries) count += num_nodes(entry.value);
  return count;
}

/// Builds the node while the text is read, so that the bounds hold before anything has grown.
class NodeBuilder final : public YAML::EventHandler {
 public:
  NodeBuilder(const std::string& text, std::string source, bool has_lines)
      : text_(text), source_(std::move(source)), has_lines_(has_lines) {}

  /// What is wrong with keys waits until the whole is known to be YAML.
  Node take() {
    if (bad_key_) fail(*bad_key_, "a key must be plain text");
    return std::move(root_);
  }

  [[noreturn]] void fail(const YAML::Mark& mark, std::string_view problem) const {
    throw base::ConfigError(fmt::format("{}: {}", position(mark).to_string(), problem));
  }

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (!std::exchange(has_document_, true)) return;
    // To yaml-cpp a comma behind a document, as in `[1, 2],`, begins another one.
    const bool is_comma =
        std::string_view(text_).substr(static_cast<std::size_t>(mark.pos)).starts_with(',');
    fail(mark, is_comma ? "not valid YAML: a comma outside of [] and {}"
                        : "a second YAML document begins; one file is one recipe");
  }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    Node node;
    node.text = null_word_at(mark);
    add(std::move(node), mark, anchor, /*is_key=*/false);
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto found = anchors_.find(anchor);
    if (found == anchors_.end()) {
      fail(mark, "this alias (*) stands inside of what it stands for");
    }
    count(num_nodes(found->second), mark);
    if (depth_of(found->second) + open_.size() > kDeepest) fail_too_deep(mark);
    add(found->second, mark, 0, found->second.is_scalar());
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    check_tag(mark, tag);
    check_characters(mark, value);
    // yaml-cpp tags quoted scalars with "!" and bare ones with "?".
    const bool is_quoted = tag == "!";
    const bool is_null = !is_quoted && (value.empty() || value == "~" || value == "null");
    add(is_null && !wants_key() ? Node{} : Node::scalar(value, is_quoted), mark, anchor, true);
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    check_tag(mark, tag);
    begin(Node::list(), mark, anchor);
  }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    check_tag(mark, tag);
    begin(Node::map(), mark, anchor);
  }
  void OnSequenceEnd() override { end(); }
  void OnMapEnd() override { end(); }

 private:
  /// "null" or "~" if that is written, and not nothing, which stands for the defaults.
  std::string null_word_at(const YAML::Mark& mark) const {
    if (mark.is_null()) return "";
    std::string_view word = text_;
    word.remove_prefix(std::min(word.size(), static_cast<std::size_t>(mark.pos)));
    word = word.substr(0, word.find_first_of(" \t\r\n,]}#"));
    const bool is_null = word == "~" || base::to_lower(word) == "null";
    return is_null ? std::string(word) : "";
  }

  struct Open {
    Node node;
    YAML::Mark mark;
    YAML::anchor_t anchor;
    bool has_key = false;  ///< of a map: its last entry waits for the value
  };

  Position position(const YAML::Mark& mark) const {
    return {source_, has_lines_ && !mark.is_null() ? mark.line + 1 : 0};
  }

  bool wants_key() const {
    return !open_.empty() && open_.back().node.is_map() && !open_.back().has_key;
  }

  void begin(Node node, const YAML::Mark& mark, YAML::anchor_t anchor) {
    if (open_.size() >= kDeepest) fail_too_deep(mark);
    open_.push_back({std::move(node), mark, anchor});
  }

  void end() {
    Open done = std::move(open_.back());
    open_.pop_back();
    add(std::move(done.node), done.mark, done.anchor, /*is_key=*/false);
  }

  void add(Node node, const YAML::Mark& mark, YAML::anchor_t anchor, bool is_key) {
    count(1, mark);
    node.position = position(mark);
    if (anchor != 0) {
      count(num_nodes(node), mark);
      anchors_[anchor] = node;
    }
    if (open_.empty()) {
      root_ = std::move(node);
    } else if (open_.back().node.is_list()) {
      open_.back().node.items.push_back(std::move(node));
    } else if (wants_key()) {
      if (!is_key && !bad_key_) bad_key_ = mark;
      add_key(node, mark);
    } else {
      MapEntry& entry = open_.back().node.entries.back();
      // yaml-cpp marks the absent value of `key:` where the next token stands.
      if (node.is_null()) node.position = entry.position;
      entry.value = std::move(node);
      open_.back().has_key = false;
    }
  }

  void add_key(const Node& key, const YAML::Mark& mark) {
    Open& map = open_.back();
    if (key.text == "<<" && !key.is_quoted) {
      fail(mark, "'<<' is not understood here; share sections between files with 'extends'");
    }
    const auto first = std::find_if(map.node.entries.begin(), map.node.entries.end(),
                                    [&](const MapEntry& entry) { return entry.key == key.text; });
    if (first != map.node.entries.end()) {
      fail(mark, fmt::format("the key '{}' stands here twice (first in line {}); remove one",
                             base::excerpt(key.text), first->position.line));
    }
    if (map.node.entries.size() >= kMostKeys) {
      fail(mark, fmt::format("a section has more than {} keys", kMostKeys));
    }
    map.node.entries.push_back({key.text, {}, position(mark)});
    map.has_key = true;
  }

  void count(std::size_t num_more, const YAML::Mark& mark) {
    count_ += num_more;
    if (count_ > kMostNodes) {
      fail(mark, fmt::format("more than {} values, counted where aliases (*) put them: no recipe "
                             "is as large; is this another program's file?",
                             kMostNodes));
    }
  }

  [[noreturn]] void fail_too_deep(const YAML::Mark& mark) const {
    fail(mark, fmt::format("nested more than {} deep", kDeepest));
  }

  static std::size_t depth_of(const Node& node) {
    std::size_t deepest = 0;
    for (const Node& item : node.items) deepest = std::max(deepest, depth_of(item));
    for (const MapEntry& entry : node.entries) deepest = std::max(deepest, depth_of(entry.value));
    return deepest + (node.is_list() || node.is_map() ? 1 : 0);
  }

  /// A tag asks for another type or another program's object, which nobody here would give.
  void check_tag(const YAML::Mark& mark, const std::string& tag) const {
    if (tag.empty() || tag == "?" || tag == "!") return;
    fail(mark, fmt::format("the tag {} is not understood here; remove it, and quote what must be "
                           "text",
                           base::excerpt(tag)));
  }

  void check_characters(const YAML::Mark& mark, std::string_view value) const {
    for (const char c : value) {
      const auto byte = static_cast<unsigned char>(c);
      if ((byte < 0x20 && c != '\n' && c != '\t') || byte == 0x7f) {
        fail(mark,
             fmt::format("the character \\x{:02x} has no place in a recipe; remove it", byte));
      }
    }
  }

  const std::string& text_;
  std::string source_;
  bool has_lines_;
  bool has_document_ = false;
  std::optional<YAML::Mark> bad_key_;
  std::size_t count_ = 0;
  std::vector<Open> open_;  ///< from the outermost list or map to the innermost
  std::map<YAML::anchor_t, Node> anchors_;
  Node root_;
};

// yaml-cpp takes whatever bytes come, and UTF-16 by its mark.
void check_bytes(std::string_view text, const std::string& source) {
  if (text.size() > kMostBytes) {
    throw base::ConfigError(
        fmt::format("{}: {} bytes, and a recipe has at most {}; is this another file?", source,
                    text.size(), kMostBytes));
  }
  const auto bad = std::min(base::find_invalid_utf8(text).value_or(text.npos), text.find('\0'));
  if (bad == text.npos) return;
  const std::string_view before = text.substr(0, bad);
  throw base::ConfigError(
      fmt::format("{}:{}: not UTF-8 text (byte \\x{:02x} at offset {}); save it as UTF-8", source,
                  1 + std::count(before.begin(), before.end(), '\n'),
                  static_cast<unsigned char>(text[bad]), bad));
}

// What yaml-cpp does not say of the commonest mistakes.
std::string_view hint_of(const std::string& text, const YAML::Mark& mark) {
  if (mark.is_null()) return "";
  std::istringstream lines(text);
  std::string line;
  for (int number = 0; number <= mark.line; ++number) std::getline(lines, line);
  const std::string_view indent = std::string_view(line).substr(0, line.find_first_not_of(" \t"));
  if (indent.find('\t') != indent.npos)
    return " (a tab indents this line; YAML wants spaces there)";
  return line.find("${") == line.npos
             ? ""
             : " (within {} and [] quote what holds a variable: \"${VAR}\")";
}

Node parse(std::string_view text, std::string source, bool has_lines) {
  check_bytes(text, source);
  const std::string copy(text);
  NodeBuilder builder(copy, std::move(source), has_lines);
  try {
    std::istringstream stream(copy);
    YAML::Parser parser(stream);
    while (parser.HandleNextDocument(builder)) {
    }
    return builder.take();
  } catch (const YAML::Exception& error) {
    builder.fail(error.mark, fmt::format("not valid YAML: {}{}", base::excerpt(error.msg),
                                         hint_of(copy, error.mark)));
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
    text = base::read_file(path, kMostBytes);
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
    // What stands in a file that is no recipe is nobody's business.
    throw base::ConfigError(
        fmt::format("{}: not a recipe, which is a map of sections, such as train: {{duration: "
                    "3ep}}: this is {}",
                    path.string(), node.is_list() ? "a list" : "plain text"));
  }
  return node;
}

}  // namespace paceline::config

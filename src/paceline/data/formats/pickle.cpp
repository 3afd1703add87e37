#include "paceline/data/formats/pickle.h"

#include "paceline/data/formats/pickle_values.h"

#include <algorithm>
#include <deque>
#include <memory>
#include <string_view>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

namespace paceline::data {
namespace {

using Kind = PickleValue::Kind;

constexpr const char* kReconstruct = "_reconstruct";
constexpr const char* kFromBuffer = "_frombuffer";
constexpr const char* kDtype = "dtype";
constexpr const char* kEncode = "encode";

/// The machine that a pickle is a program for, reduced to what builds plain data. See CPython's
/// Lib/pickletools.py for the meaning of each opcode.
class PickleReader : PickleValues {
 public:
  using PickleValues::PickleValues;
  using Values = std::vector<PickleValue*>;

  using PickleValues::take_values;

  PickleValue* read() {
    while (true) {
      const auto opcode = take<std::uint8_t>();
      if (opcode == '.') return pop();
      if (!read_number(opcode) && !read_text(opcode) && !read_container(opcode) &&
          !read_memo(opcode) && !read_object(opcode)) {
        fail(fmt::format("opcode 0x{:02x} is not supported", opcode));
      }
    }
  }

 private:
  void push(PickleValue* value) { stack_.push_back(value); }

  PickleValue* pop() {
    const std::size_t bottom = marks_.empty() ? 0 : marks_.back();
    if (stack_.size() <= bottom) fail("its stack runs empty");
    PickleValue* const value = stack_.back();
    stack_.pop_back();
    return value;
  }

  PickleValue& top(Kind kind) {
    if (stack_.empty() || stack_.back()->kind != kind) fail("an operation has the wrong operand");
    return *stack_.back();
  }

  Values pop_to_mark() {
    if (marks_.empty()) fail("a mark is missing");
    const auto begin = stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back());
    marks_.pop_back();
    Values values(begin, stack_.end());
    stack_.erase(begin, stack_.end());
    return values;
  }

  void push_tuple(Values items) {
    PickleValue* const tuple = make(Kind::kList);
    for (const PickleValue* item : items) deepen(*tuple, *item);
    tuple->items = std::move(items);
    push(tuple);
  }

  Values pop_last(std::size_t count) {
    Values values(count);
    for (std::size_t i = count; i-- > 0;) values[i] = pop();
    return values;
  }

  void push_last_as_tuple(std::size_t count) { push_tuple(pop_last(count)); }

  void add_items(const Values& added) {
    PickleValue& list = top(Kind::kList);
    for (const PickleValue* item : added) deepen(list, *item);
    list.items.insert(list.items.end(), added.begin(), added.end());
  }

  void set_items(const Values& pairs) {
    PickleValue& dict = top(Kind::kDict);
    if (pairs.size() % 2 != 0) fail("a dict has a key without a value");
    for (std::size_t i = 0; i < pairs.size(); i += 2) {
      if (pairs[i]->kind != Kind::kString) fail("a dict has a key that is not a string");
      deepen(dict, *pairs[i + 1]);
      dict.entries[pairs[i]->text] = pairs[i + 1];
    }
  }

  bool read_number(std::uint8_t opcode);
  bool read_text(std::uint8_t opcode);
  bool read_container(std::uint8_t opcode);
  bool read_memo(std::uint8_t opcode);
  bool read_object(std::uint8_t opcode);
  void push_global(std::string_view module, std::string_view attribute);
  void reduce();
  void build();
  void build_array(PickleValue& array, const Values& state);
  std::string decode_latin1(const std::string& utf8) const;

  Values stack_;
  std::vector<std::size_t> marks_;
  std::unordered_map<std::uint64_t, PickleValue*> memo_;
};

bool PickleReader::read_number(std::uint8_t opcode) {
  switch (opcode) {
    case 'N':
      push(make(Kind::kNone));
      return true;
    case 0x88:
      push(make_int(1));
      return true;  // True
    case 0x89:
      push(make_int(0));
      return true;  // False
    case 'K':
      push(make_int(take<std::uint8_t>()));
      return true;
    case 'M':
      push(make_int(take<std::uint16_t>()));
      return true;
    case 'J':
      push(make_int(take<std::int32_t>()));
      return true;
    case 0x8a:
      push(make_int(take_long(take<std::uint8_t>())));
      return true;
    case 'G':
      push(make_real(take_real()));
      return true;
    default:
      return false;
  }
}

bool PickleReader::read_text(std::uint8_t opcode) {
  switch (opcode) {
    case 0x80:
      take<std::uint8_t>();
      return true;  // the protocol
    case 0x95:
      take<std::uint64_t>();
      return true;  // the length of a frame
    case 'U':
    case 'C':
    case 0x8c:  // with a length of one byte
      push(make_text(Kind::kString, take_bytes(take<std::uint8_t>())));
      return true;
    case 'T':
    case 'B':
    case 'X':  // four bytes
      push(make_text(Kind::kString, take_bytes(take<std::uint32_t>())));
      return true;
    case 0x8d:
    case 0x8e:
    case 0x96:  // eight bytes
      push(make_text(Kind::kString, take_bytes(take<std::uint64_t>())));
      return true;
    default:
      return false;
  }
}

bool PickleReader::read_container(std::uint8_t opcode) {
  switch (opcode) {
    case '(':
      marks_.push_back(stack_.size());
      return true;
    case ')':
      push_tuple({});
      return true;
    case 0x85:
      push_last_as_tuple(1);
      return true;
    case 0x86:
      push_last_as_tuple(2);
      return true;
    case 0x87:
      push_last_as_tuple(3);
      return true;
    case 't':
    case 'l':
      push_tuple(pop_to_mark());
      return true;
    case ']':
      push(make(Kind::kList));
      return true;
    case 'a':
      add_items(pop_last(1));
      return true;
    case 'e':
      add_items(pop_to_mark());
      return true;
    case '}':
      push(make(Kind::kDict));
      return true;
    case 's':
      set_items(pop_last(2));
      return true;
    case 'u':
      set_items(pop_to_mark());
      return true;
    case '0':
      pop();
      return true;
    default:
      return false;
  }
}

bool PickleReader::read_memo(std::uint8_t opcode) {
  const auto put = [this](std::uint64_t key) {
    if (stack_.empty()) fail("its stack runs empty");
    memo_[key] = stack_.back();
  };
  const auto get = [this](std::uint64_t key) {
    const auto found = memo_.find(key);
    if (found == memo_.end()) fail(fmt::format("it has no memo {}", key));
    push(found->second);
  };
  switch (opcode) {
    case 'q':
      put(take<std::uint8_t>());
      return true;
    case 'r':
      put(take<std::uint32_t>());
      return true;
    case 0x94:
      put(memo_.size());
      return true;
    case 'h':
      get(take<std::uint8_t>());
      return true;
    case 'j':
      get(take<std::uint32_t>());
      return true;
    default:
      return false;
  }
}

bool PickleReader::read_object(std::uint8_t opcode) {
  switch (opcode) {
    case 'c': {
      const std::string_view module = take_line();
      push_global(module, take_line());
      return true;
    }
    case 0x93: {  // the same with both names on the stack
      const Values names = pop_last(2);
      push_global(names[0]->text, names[1]->text);
      return true;
    }
    case 'R':
      reduce();
      return true;
    case 'b':
      build();
      return true;
    default:
      return false;
  }
}

void PickleReader::push_global(std::string_view module, std::string_view attribute) {
  static constexpr std::pair<std::string_view, std::string_view> kAllowed[] = {
      {"numpy.core.multiarray", kReconstruct},
      {"numpy._core.multiarray", kReconstruct},
      {"numpy.core.numeric", kFromBuffer},
      {"numpy._core.numeric", kFromBuffer},
      {"numpy", "ndarray"},
      {"numpy", kDtype},
      {"_codecs", kEncode}};
  const bool is_allowed = std::any_of(
      std::begin(kAllowed), std::end(kAllowed),
      [&](const auto& allowed) { return allowed.first == module && allowed.second == attribute; });
  if (!is_allowed) {
    fail(fmt::format("it names {}.{}, which is neither plain data nor a NumPy array", module,
                     attribute));
  }
  push(make_text(Kind::kGlobal, attribute));
}

void PickleReader::reduce() {
  const PickleValue* const arguments = pop();
  const PickleValue* const function = pop();
  if (function->kind != Kind::kGlobal || arguments->kind != Kind::kList) {
    fail("it calls what is no function");
  }
  const auto& items = arguments->items;
  if (function->text == kReconstruct) {  // (ndarray, (0,), b'b'): filled in by build()
    push(make(Kind::kArray));
  } else if (function->text == kDtype && !items.empty() && items[0]->kind == Kind::kString) {
    push(make(Kind::kDtype));
    stack_.back()->dtype = items[0]->text;
  } else if (function->text == kEncode && items.size() == 2 && items[1]->text == "latin1") {
    push(
        make_text(Kind::kString, decode_latin1(items[0]->text)));  // Python 3's bytes in protocol 2
  } else if (function->text == kFromBuffer && items.size() == 4) {
    // (bytes, dtype, shape, order): protocol 5
    push(make(Kind::kArray));
    build_array(*stack_.back(),
                {nullptr, items[2], items[1], make_int(items[3]->text == "F" ? 1 : 0), items[0]});
  } else {
    fail(fmt::format("it calls {} with unknown arguments", function->text));
  }
}

void PickleReader::build() {
  const PickleValue* const state = pop();
  if (stack_.empty() || state->kind != Kind::kList) fail("it sets the state of nothing");
  PickleValue& object = *stack_.back();
  if (object.kind == Kind::kArray && state->items.size() == 5) {
    build_array(object, state->items);  // (version, shape, dtype, is Fortran order, bytes)
  } else if (object.kind == Kind::kDtype && state->items.size() > 1) {
    if (state->items[1]->text == ">") fail("its numbers are big endian");
  } else {
    fail("it sets the state of an unknown object");
  }
}

void PickleReader::build_array(PickleValue& array, const Values& state) {
  if (state[1]->kind != Kind::kList || state[2]->kind != Kind::kDtype ||
      state[4]->kind != Kind::kString) {
    fail("an array has an unknown state");
  }
  array.dtype = state[2]->dtype;
  const char size = array.dtype.size() == 2 ? array.dtype[1] : '0';
  std::uint64_t expected = size >= '1' && size <= '8' ? static_cast<std::uint64_t>(size - '0') : 0;
  array.shape.clear();
  for (const PickleValue* side : state[1]->items) {
    if (side->kind != Kind::kInt || side->integer < 0 || side->integer > (std::int64_t{1} << 40)) {
      fail("an array has an impossible shape");
    }
    array.shape.push_back(side->integer);
    if (__builtin_mul_overflow(expected, static_cast<std::uint64_t>(side->integer), &expected)) {
      fail("an array has an impossible shape");
    }
  }
  if (expected != state[4]->text.size()) {
    fail(fmt::format("an array of type '{}' has {} bytes, its shape asks for {}", array.dtype,
                     state[4]->text.size(), expected));
  }
  if (state[3]->integer != 0 && array.shape.size() > 1) fail("an array is in Fortran order");
  set_text(array, state[4]->text);
}

std::string PickleReader::decode_latin1(const std::string& utf8) const {
  std::string bytes;
  bytes.reserve(utf8.size());
  for (std::size_t i = 0; i < utf8.size(); ++i) {
    const auto lead = static_cast<std::uint8_t>(utf8[i]);
    if (lead < 0x80) {
      bytes.push_back(utf8[i]);
    } else if ((lead == 0xc2 || lead == 0xc3) && i + 1 < utf8.size()) {
      const auto follow = static_cast<std::uint8_t>(utf8[++i]);
      bytes.push_back(static_cast<char>(((lead & 3u) << 6) | (follow & 0x3fu)));
    } else {
      fail("a string that stands for bytes holds another character");
    }
  }
  return bytes;
}

}  // namespace

PicklePointer read_pickle(std::span<const std::uint8_t> bytes, const std::string& name) {
  PickleReader reader(bytes, name);
  const PickleValue* const value = reader.read();
  return {std::make_shared<const std::deque<PickleValue>>(reader.take_values()), value};
}

}  // namespace paceline::data

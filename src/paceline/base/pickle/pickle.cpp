#include "paceline/base/pickle/pickle.h"

#include "paceline/base/pickle/pickle_machine.h"
#include "paceline/base/pickle/pickle_text.h"

#include <algorithm>
#include <charconv>
#include <optional>

namespace paceline::base {
namespace {

using Kind = PickleValue::Kind;

/// Runs a pickle's opcodes. See CPython's Lib/pickletools.py for the meaning of each.
class PickleReader : public PickleMachine {
 public:
  using PickleMachine::PickleMachine;

  const PickleValue* run() {
    while (true) {
      count_operation();
      const auto opcode = take<std::uint8_t>();
      if (opcode == '.') return pop();
      if (!read_number(opcode) && !read_text(opcode) && !read_container(opcode) &&
          !read_stack(opcode) && !read_memo(opcode) && !read_object(opcode)) {
        fail(fmt::format("opcode 0x{:02x} is not supported", opcode));
      }
    }
  }

 private:
  bool read_number(std::uint8_t opcode);
  bool read_text(std::uint8_t opcode);
  bool read_container(std::uint8_t opcode);
  bool read_stack(std::uint8_t opcode);
  bool read_memo(std::uint8_t opcode);
  bool read_object(std::uint8_t opcode);

  std::optional<std::uint64_t> take_key() {
    const auto key = parse_decimal(take_line());
    return key && *key >= 0 ? std::optional(static_cast<std::uint64_t>(*key)) : std::nullopt;
  }
};

bool PickleReader::read_number(std::uint8_t opcode) {
  const auto push_little_endian = [this](std::uint64_t size) {
    const std::string_view bytes = take_bytes(size);
    push_int(parse_little_endian(bytes), bytes);
  };
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
      push_little_endian(take<std::uint8_t>());
      return true;
    case 0x8b:
      push_little_endian(take<std::uint32_t>());
      return true;
    case 'G':
      push(make_real(take_real()));
      return true;
    case 'I':
    case 'L': {
      const std::string_view line = take_line();
      push_int(parse_decimal(line), line);
      return true;
    }
    case 'F': {
      const std::string_view line = take_line();
      double real = 0;
      const auto parsed = std::from_chars(line.data(), line.data() + line.size(), real);
      if (parsed.ptr != line.data() + line.size()) fail("a number is spelled wrongly");
      push(make_real(real));
      return true;
    }
    default:
      return false;
  }
}

bool PickleReader::read_text(std::uint8_t opcode) {
  switch (opcode) {
    case 0x80: {
      const int protocol = take<std::uint8_t>();
      if (protocol > 5) fail(fmt::format("its protocol {} is not known", protocol));
      return true;
    }
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
    case 'S':
      push_text(unquote_python(take_line()));
      return true;
    case 'V':
      push_text(decode_raw_unicode(take_line()));
      return true;
    default:
      return false;
  }
}

bool PickleReader::read_container(std::uint8_t opcode) {
  switch (opcode) {
    case ')':
      push_list({});
      return true;
    case 0x85:
      push_list(pop_last(1));
      return true;
    case 0x86:
      push_list(pop_last(2));
      return true;
    case 0x87:
      push_list(pop_last(3));
      return true;
    case 't':
    case 'l':
    case 0x91:  // a frozen set
      push_list(pop_to_mark());
      return true;
    case ']':
    case 0x8f:  // an empty set
      push(make(Kind::kList));
      return true;
    case 'a':
      add_items(pop_last(1));
      return true;
    case 'e':
    case 0x90:  // to a set
      add_items(pop_to_mark());
      return true;
    case '}':
      push(make(Kind::kDict));
      return true;
    case 'd': {
      const Values pairs = pop_to_mark();
      push(make(Kind::kDict));
      set_items(pairs);
      return true;
    }
    case 's':
      set_items(pop_last(2));
      return true;
    case 'u':
      set_items(pop_to_mark());
      return true;
    default:
      return false;
  }
}

bool PickleReader::read_stack(std::uint8_t opcode) {
  switch (opcode) {
    case '(':
      mark();
      return true;
    case '0':
      pop();
      return true;
    case '1':
      pop_to_mark();
      return true;
    case '2':
      push(&top());
      return true;
    default:
      return false;
  }
}

bool PickleReader::read_memo(std::uint8_t opcode) {
  switch (opcode) {
    case 'q':
      put(take<std::uint8_t>());
      return true;
    case 'r':
      put(take<std::uint32_t>());
      return true;
    case 'p':
      put(take_key());
      return true;
    case 0x94:
      put(memo_size());
      return true;
    case 'h':
      get(take<std::uint8_t>());
      return true;
    case 'j':
      get(take<std::uint32_t>());
      return true;
    case 'g':
      get(take_key());
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
    case 0x81: {  // a class instead of a function
      const Values call = pop_last(2);
      push_object(*call[0], *call[1]);
      return true;
    }
    case 'b':
      set_state(*pop());
      return true;
    case 'Q':
      push_reference(pop());
      return true;
    case 'P':
      push_reference(make_text(Kind::kString, take_line()));
      return true;
    default:
      return false;
  }
}

}  // namespace

const PickleValue* PickleValue::find(std::string_view key) const {
  const auto found = std::find_if(entries.rbegin(), entries.rend(), [&](const Entry& entry) {
    return entry.first->kind == Kind::kString && entry.first->text == key;
  });
  return found == entries.rend() ? nullptr : found->second;
}

ReadPickle read_pickle(std::span<const std::uint8_t> bytes, const PickleRules& rules) {
  PickleReader machine(bytes, rules);
  const PickleValue* const value = machine.run();
  const auto memory = std::make_shared<const PickleValues::Memory>(machine.take_memory());
  return {{memory, value}, machine.position()};
}

}  // namespace paceline::base

#include "rubato/trace/text/delimited.h"

#include <algorithm>

#include "rubato/base/parse.h"

namespace rubato {
namespace {

/// Hands out the strings of a vector one after the other, growing it only when needed.
class FieldFiller {
 public:
  explicit FieldFiller(std::vector<std::string>& fields) : fields_(fields) {}

  std::string& next() {
    if (used_ == fields_.size()) {
      fields_.emplace_back();
    }
    fields_[used_].clear();
    return fields_[used_++];
  }
  void finish() { fields_.resize(used_); }

 private:
  std::vector<std::string>& fields_;
  std::size_t used_ = 0;
};

void split_blanks(std::string_view line, FieldFiller& fields) {
  constexpr std::string_view kBlanks = " \t";
  std::size_t begin = line.find_first_not_of(kBlanks);
  while (begin != std::string_view::npos) {
    const std::size_t end = line.find_first_of(kBlanks, begin);
    fields.next().assign(line.substr(begin, end - begin));
    begin = line.find_first_not_of(kBlanks, end);
  }
}

// Takes a quoted field off the front of `rest`, up to its separator; false if it stays open.
bool take_quoted(std::string_view& rest, char separator, std::string& field) {
  rest.remove_prefix(rest.find('"') + 1);
  for (std::size_t quote = rest.find('"'); quote != std::string_view::npos;
       quote = rest.find('"')) {
    field.append(rest.substr(0, quote));
    rest.remove_prefix(quote + 1);
    if (!rest.starts_with('"')) {
      rest.remove_prefix(std::min(rest.find(separator), rest.size()));
      return true;
    }
    field += '"';
    rest.remove_prefix(1);
  }
  return false;
}

}  // namespace

bool split_delimited(std::string_view line, char separator, std::vector<std::string>& fields) {
  FieldFiller filler(fields);
  bool is_closed = true;
  if (separator == ' ') {
    split_blanks(line, filler);
    filler.finish();
    return true;
  }
  for (bool more = true; more;) {
    std::string& field = filler.next();
    if (separator == ',' && trimmed(line.substr(0, line.find(separator))).starts_with('"')) {
      is_closed = take_quoted(line, separator, field);
      line = is_closed ? line : std::string_view{};
    } else {
      const std::size_t end = std::min(line.find(separator), line.size());
      field.assign(trimmed(line.substr(0, end)));
      line.remove_prefix(end);
    }
    more = !line.empty();
    line.remove_prefix(more ? 1 : 0);
  }
  filler.finish();
  return is_closed;
}

}  // namespace rubato

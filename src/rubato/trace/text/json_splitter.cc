#include "rubato/trace/text/json_splitter.h"

namespace rubato {

bool JsonSplitter::take(char letter) {
  if (!problem_.empty()) {
    return false;
  }
  if (letter == '\n') {
    ++line_;
  }
  if (is_in_record_) {
    keep(letter);
  }
  if (is_in_string_) {
    take_in_string(letter);
    return false;
  }
  return take_outside(letter);
}

void JsonSplitter::take_in_string(char letter) {
  if (is_escaped_) {
    is_escaped_ = false;
  } else if (letter == '\\') {
    is_escaped_ = true;
  } else if (letter == '"') {
    is_in_string_ = false;
    return;
  }
  if (!is_in_array_ && open_.size() == 1 && word_.size() <= key_.size()) {
    word_ += letter;
  }
}

bool JsonSplitter::take_outside(char letter) {
  switch (letter) {
    case '"':
      is_in_string_ = true;
      word_.clear();
      return false;
    case '{':
    case '[':
      open(letter);
      return false;
    case '}':
    case ']':
      return close(letter);
    case ',':
      word_.clear();
      return false;
    default:
      return false;
  }
}

void JsonSplitter::open(char bracket) {
  if (open_.size() == kJsonDepthMax) {
    problem_ = "nested deeper than " + std::to_string(kJsonDepthMax) + " levels";
    return;
  }
  if (is_in_array_ && !is_in_record_ && bracket == '{') {
    is_in_record_ = true;
    record_line_ = line_;
    keep(bracket);
  }
  open_ += bracket;
  const bool is_ours = open_.size() == array_depth() && bracket == '[' && word_ == key_;
  if (is_ours && !has_found_array_) {
    has_found_array_ = true;
    is_in_array_ = true;
  }
  word_.clear();
}

bool JsonSplitter::close(char bracket) {
  const char opened = bracket == '}' ? '{' : '[';
  if (open_.empty() || open_.back() != opened) {
    problem_ = std::string("a '") + bracket + "' closes nothing";
    return false;
  }
  open_.pop_back();
  const bool ends_record = is_in_record_ && open_.size() == array_depth();
  is_in_record_ = is_in_record_ && !ends_record;
  is_in_array_ = is_in_array_ && open_.size() >= array_depth();
  return ends_record;
}

void JsonSplitter::keep(char letter) {
  if (record_.size() == kRecordBytesMax) {
    is_too_long_ = true;
    record_.clear();
  }
  if (!is_too_long_) {
    record_ += letter;
  }
}

std::string JsonSplitter::problem(bool at_end) const {
  if (!problem_.empty() || !at_end) {
    return problem_;
  }
  if (is_in_string_ || !open_.empty()) {
    return "the text ends inside a JSON value: the file was cut off";
  }
  if (!has_found_array_) {
    return key_.empty() ? "found no JSON array" : "found no list '" + key_ + "'";
  }
  return {};
}

}  // namespace rubato

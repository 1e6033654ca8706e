// Cuts the objects out of one long JSON array without loading the array.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace rubato {

/// A longer object is reported, not kept.
inline constexpr std::size_t kRecordBytesMax = std::size_t{16} << 20U;
/// Deeper nesting is no trace, and would let a small file use much memory.
inline constexpr std::size_t kJsonDepthMax = 64;

struct JsonRecord {
  std::string_view text{};  // One object, not yet parsed; empty if too long.
  std::uint64_t line = 0;   // Where it starts.
  bool is_too_long = false;
};

/// Finds the array at the root of the text or, given a key, under that key of a root object.
/// Follows brackets and quotes only; that each object is sound is for its parser to see.
class JsonSplitter {
 public:
  explicit JsonSplitter(std::string key) : key_(std::move(key)) {}

  /// Calls `on_record(const JsonRecord&)` for every object that `chunk` completes.
  template <typename OnRecord>
  void feed(std::string_view chunk, OnRecord&& on_record) {
    for (const char letter : chunk) {
      if (take(letter)) {
        on_record(JsonRecord{.text = is_too_long_ ? std::string_view{} : record_,
                             .line = record_line_,
                             .is_too_long = is_too_long_});
        record_.clear();
        is_too_long_ = false;
      }
    }
  }

  /// What is wrong with the brackets so far, or empty. With `at_end` an open bracket is wrong too.
  [[nodiscard]] std::string problem(bool at_end) const;
  [[nodiscard]] std::uint64_t line() const { return line_; }
  [[nodiscard]] std::size_t buffered_bytes() const { return record_.size() + word_.size(); }

 private:
  // Each takes one byte; true when it ends a record.
  bool take(char letter);
  void take_in_string(char letter);
  bool take_outside(char letter);
  void open(char bracket);
  bool close(char bracket);
  void keep(char letter);
  [[nodiscard]] std::size_t array_depth() const { return key_.empty() ? 1 : 2; }

  std::string key_;
  std::string open_;    // The open brackets, outermost first.
  std::string record_;  // The object so far.
  std::string word_;    // The last text at the depth of the key: perhaps the key.
  std::uint64_t line_ = 1;
  std::uint64_t record_line_ = 0;
  bool is_in_string_ = false;
  bool is_escaped_ = false;
  bool is_in_array_ = false;
  bool is_in_record_ = false;
  bool is_too_long_ = false;
  bool has_found_array_ = false;
  std::string problem_;
};

}  // namespace rubato

#include "rubato/trace/formats/auto_reader.h"

#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "rubato/base/check.h"
#include "rubato/trace/formats/formats.h"
#include "rubato/trace/read/detect.h"
#include "rubato/trace/text/problems.h"

namespace rubato {
namespace {

// The text from its first visible byte on; empty if there is none yet.
std::string_view visible(std::string_view text) {
  if (text.starts_with("\xEF\xBB\xBF")) {
    text.remove_prefix(3);
  }
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  return first == std::string_view::npos ? std::string_view{} : text.substr(first);
}

class AutoReader final : public Reader {
 public:
  explicit AutoReader(ReaderSetup setup) : setup_(std::move(setup)) {}

  void feed(std::string_view chunk) override {
    if (reader_ != nullptr) {
      reader_->feed(chunk);
      return;
    }
    if (is_unknown_) {
      return;
    }
    held_.append(chunk);
    const bool has_line = visible(held_).find('\n') != std::string_view::npos;
    if (has_line || held_.size() >= kDetectBytesMax) {
      choose();
    }
  }

  Status finish() override {
    if (reader_ == nullptr && !is_unknown_) {
      choose();
    }
    return reader_ != nullptr ? reader_->finish() : unknown();
  }

  [[nodiscard]] std::size_t buffered_bytes() const override {
    return reader_ != nullptr ? reader_->buffered_bytes() : held_.size();
  }

 private:
  void choose() {
    const std::string_view format = detect_format(visible(held_));
    is_empty_ = visible(held_).empty();
    is_unknown_ = format.empty();
    if (!is_unknown_) {
      auto reader = make_reader(format, std::move(setup_));
      RUBATO_CHECK(reader.ok());
      reader_ = std::move(reader).value();
      reader_->feed(held_);
    }
    held_ = std::string();
  }

  Status unknown() {
    std::vector<std::string_view> names;
    for (const TraceFormat& format : trace_formats()) {
      names.push_back(format.name);
    }
    Problems problems(setup_.file, std::move(setup_.diagnostics));
    if (is_empty_) {
      problems.error(0, "", "the trace is empty");
    } else {
      problems.error(1, "", "the first line fits no known trace format",
                     fmt::format("name it with --format: {}", fmt::join(names, ", ")));
    }
    return problems.finish();
  }

  ReaderSetup setup_;
  std::unique_ptr<Reader> reader_;
  std::string held_;
  bool is_unknown_ = false;
  bool is_empty_ = false;
};

}  // namespace

std::unique_ptr<Reader> make_auto_reader(ReaderSetup setup) {
  return std::make_unique<AutoReader>(std::move(setup));
}

}  // namespace rubato

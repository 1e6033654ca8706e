#include "rubato/trace/text/problems.h"

#include <utility>

#include <fmt/format.h>

namespace rubato {

Problems::Problems(std::string file, DiagnosticSink sink)
    : file_(std::move(file)), sink_(std::move(sink)) {}

void Problems::error(std::uint64_t line, std::string_view field, std::string message,
                     std::string suggestion) {
  if (gave_up()) {
    return;
  }
  ++errors_;
  Diagnostic diagnostic{.severity = Severity::Error,
                        .file = file_,
                        .line = line,
                        .field = std::string(field),
                        .message = std::move(message),
                        .suggestion = std::move(suggestion)};
  if (errors_ == 1) {
    first_error_ = to_string(diagnostic);
  }
  if (gave_up()) {
    diagnostic.message += fmt::format(" (error {}: reading stops here)", kErrorsMax);
  }
  sink_(std::move(diagnostic));
}

void Problems::warning(std::uint64_t line, std::string_view field, std::string message,
                       std::string suggestion) {
  sink_(Diagnostic{.severity = Severity::Warning,
                   .file = file_,
                   .line = line,
                   .field = std::string(field),
                   .message = std::move(message),
                   .suggestion = std::move(suggestion)});
}

void Problems::skip(std::uint64_t line, std::string_view field, const std::string& reason) {
  Skipped& skipped = skipped_[reason];
  if (skipped.rows == 0) {
    skipped.first_line = line;
    skipped.field = std::string(field);
  }
  ++skipped.rows;
}

Status Problems::finish() {
  for (const auto& [reason, skipped] : skipped_) {
    warning(skipped.first_line, skipped.field,
            fmt::format("{} ({} rows skipped, this is the first)", reason, skipped.rows));
  }
  if (errors_ == 0) {
    return ok_status();
  }
  return bad_input(errors_ == 1 ? first_error_
                                : fmt::format("{} (and {} more)", first_error_, errors_ - 1));
}

}  // namespace rubato

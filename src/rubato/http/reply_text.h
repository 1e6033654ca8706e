// Answers as bytes, with the headers that each of them carries for the sake of browsers.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "rubato/http/message.h"

namespace rubato {

/// How the end of the body is told.
enum class BodyFraming { Length, Chunks, UntilClose };

struct ReplyForm {
  BodyFraming framing = BodyFraming::Length;
  bool is_kept_alive = true;
};

[[nodiscard]] std::string_view status_words(int status);

/// Status line and headers, with the empty line after them. Line breaks in a header's value become
/// spaces: no value can add a header.
[[nodiscard]] std::string reply_head(const HttpReply& reply, const ReplyForm& form,
                                     std::chrono::system_clock::time_point now);

/// One piece of a body of chunks; `bytes` must not be empty, which would end the body.
[[nodiscard]] std::string chunk(std::string_view bytes);
inline constexpr std::string_view kLastChunk = "0\r\n\r\n";

}  // namespace rubato

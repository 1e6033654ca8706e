// Text of the outside world in messages: a worker's last words may be any bytes, but a message with
// text that is not UTF-8 can be written and never read again.
#pragma once

#include <google/protobuf/message.h>

namespace rubato {

/// Replaces what is not UTF-8, in all text of the message, by U+FFFD.
void repair_text(google::protobuf::Message& message);

}  // namespace rubato

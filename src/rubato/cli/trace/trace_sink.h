// Jobs to the text of the two formats we write.
#pragma once

#include <string>
#include <string_view>

#include "rubato/core/job.h"
#include "rubato/trace/write/rubato_writer.h"

namespace rubato {

enum class TraceTarget { Rubato, ElasticFlow };

[[nodiscard]] std::string header_text(TraceTarget target, const RubatoTraceHeader& header);
[[nodiscard]] std::string job_text(TraceTarget target, const Job& job);

}  // namespace rubato

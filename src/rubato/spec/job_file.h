// job.yaml and job.json: a job as its owner writes it down. JSON is read as the YAML it is.
#pragma once

#include <string>
#include <string_view>

#include "rubato/base/result.h"
#include "rubato/spec/deadline_text.h"
#include "rubato/wire/platform.pb.h"

namespace rubato {

inline constexpr std::size_t kJobFileBytesMax = 1 << 20;

/// Errors begin with `file:line:` and name the field. Deadlines become RFC 3339. Whether the job as
/// a whole makes sense is for validate_spec().
[[nodiscard]] Result<wire::JobSpec> parse_job_file(std::string_view text, const std::string& file,
                                                   const WallClock& clock);

}  // namespace rubato

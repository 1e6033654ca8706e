// What editors and readers are told about job files, made from the table of fields.
#pragma once

#include <string>

namespace rubato {

/// JSON Schema (2020-12), for editors: `# yaml-language-server: $schema=...`.
[[nodiscard]] std::string job_schema();

/// The table of docs/job-file.md.
[[nodiscard]] std::string job_fields_markdown();

}  // namespace rubato

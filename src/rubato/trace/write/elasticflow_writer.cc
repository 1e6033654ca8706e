#include "rubato/trace/write/elasticflow_writer.h"

#include <fmt/format.h>

#include "rubato/base/parse.h"
#include "rubato/trace/text/seconds_text.h"

namespace rubato {
namespace {

// The text as one CSV field. Line ends become blanks: readers of this format read line by line.
std::string field(std::string_view text) {
  std::string kept(text);
  for (char& letter : kept) {
    letter = letter == '\n' || letter == '\r' ? ' ' : letter;
  }
  const bool is_plain =
      kept.find_first_of(",\"") == std::string::npos && trimmed(kept).size() == kept.size();
  if (is_plain) {
    return kept;
  }
  std::string quoted_text = "\"";
  for (const char letter : kept) {
    quoted_text += letter == '"' ? "\"\"" : std::string(1, letter);
  }
  return quoted_text + "\"";
}

}  // namespace

std::string elasticflow_header_line() {
  return "job_id,submit_time,iteration,model_name,ddl,batch_size,num_gpu,duration,best_effort\n";
}

std::string elasticflow_job_line(const Job& job) {
  // A best-effort job's deadline is not read, but the column wants a number.
  const Instant deadline = job.has_deadline() ? job.deadline : job.arrival + job.duration;
  return fmt::format("{},{},{},{},{},{},{},{},{}\n",
                     job.name.empty() ? std::to_string(job.id.value) : field(job.name),
                     seconds_text(job.arrival.time_since_epoch()), shortest(job.work),
                     field(job.model), seconds_text(deadline.time_since_epoch()), job.batch,
                     job.requested, seconds_text(job.duration), job.has_deadline() ? 0 : 1);
}

bool fits_elasticflow(const Job& job) {
  const Job defaults;
  const bool is_class_kept =
      job.job_class == (job.has_deadline() ? JobClass::Slo : JobClass::BestEffort);
  const bool is_weight_kept = !(job.weight < 1) && !(job.weight > 1);
  return is_class_kept && is_weight_kept && job.tenant.empty() && job.gpu_type.empty() &&
         job.region.empty() && job.workers == defaults.workers && job.value == defaults.value;
}

}  // namespace rubato

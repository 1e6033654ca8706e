#include "rubato/cli/trace/trace_speeds.h"

#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <tuple>
#include <utility>

#include "rubato/predict/speed_table.h"

namespace rubato {

Result<std::vector<SpeedRow>> load_speeds(const std::string& path) {
  if (path.empty()) {
    return sample_speeds();
  }
  const std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file || !text) {
    return Error{.code = ErrorCode::Io, .message = path + ": cannot be read"};
  }
  return parse_speeds(text.str(), path);
}

std::vector<ModelChoice> model_choices(std::span<const SpeedRow> rows) {
  std::set<std::pair<std::string, int>> pairs;
  for (const SpeedRow& row : rows) {
    pairs.emplace(row.model, row.batch);
  }
  std::vector<ModelChoice> choices;
  choices.reserve(pairs.size());
  for (const auto& [model, batch] : pairs) {
    choices.push_back({.model = model, .batch = batch});
  }
  return choices;
}

SpeedFunction speed_of(std::span<const SpeedRow> rows) {
  std::map<std::tuple<std::string, int, int>, double> speeds;
  for (const SpeedRow& row : rows) {
    if (row.gpu_type == rows.front().gpu_type) {
      speeds.try_emplace({row.model, row.batch, row.gpus}, row.speed);
    }
  }
  return [speeds = std::move(speeds)](const ModelChoice& choice, int gpus) {
    const auto found = speeds.find({choice.model, choice.batch, gpus});
    return found == speeds.end() ? 0.0 : found->second;
  };
}

}  // namespace rubato

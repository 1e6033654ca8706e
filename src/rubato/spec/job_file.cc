#include "rubato/spec/job_file.h"

#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include "rubato/spec/job_fields.h"
#include "rubato/spec/job_values.h"

namespace rubato {
namespace {

/// Turns one document into a spec; every error says where it is.
class JobFileReader {
 public:
  JobFileReader(const std::string& file, const WallClock& clock) : file_(file), clock_(clock) {}

  Result<wire::JobSpec> read(const YAML::Node& document) {
    if (!document.IsMap()) {
      return error_at(document, "expected fields such as `steps: 12000`");
    }
    std::set<std::string> seen;
    for (const auto& entry : document) {
      const std::string name = entry.first.IsScalar() ? entry.first.Scalar() : "";
      const JobField* field = find_job_field(name);
      if (field == nullptr) {
        return error_at(entry.first,
                        fmt::format("unknown field '{}'{}", name, field_suggestion(name)));
      }
      if (!seen.insert(name).second) {
        return error_at(entry.first, fmt::format("{} is given twice", name));
      }
      if (Status taken = take(*field, entry.second); !taken) {
        return taken.error();
      }
    }
    return std::move(spec_);
  }

 private:
  Status take(const JobField& field, const YAML::Node& value) {
    if (value.IsScalar()) {
      const Status set = set_job_field(field, value.Scalar(), clock_, spec_);
      return set ? ok_status() : Status(field_error(field, value, set.error().message));
    }
    if (value.IsNull()) {
      return field_error(field, value, "has no value; leave the field out instead");
    }
    switch (field.kind) {
      case JobFieldKind::CommandLine:
        return take_command(field, value);
      case JobFieldKind::Variables:
        return take_environment(field, value);
      case JobFieldKind::Workers:
        return take_workers(field, value);
      case JobFieldKind::Speeds:
        return take_speeds(field, value);
      default:
        return field_error(field, value,
                           fmt::format("expected one value such as {}", field.example));
    }
  }

  Status take_command(const JobField& field, const YAML::Node& value) {
    for (const auto& word : value) {
      if (!value.IsSequence() || !word.IsScalar()) {
        return field_error(field, value, "expected a list of words, or one string");
      }
      spec_.add_command(word.Scalar());
    }
    return ok_status();
  }

  Status take_environment(const JobField& field, const YAML::Node& value) {
    if (!value.IsMap()) {
      return field_error(field, value, "expected names and values such as {LEVEL: '2'}");
    }
    for (const auto& entry : value) {
      if (!entry.first.IsScalar() || !entry.second.IsScalar()) {
        return field_error(field, entry.first, "expected one value for each name");
      }
      if (!spec_.mutable_environment()
               ->insert({entry.first.Scalar(), entry.second.Scalar()})
               .second) {
        return field_error(field, entry.first,
                           fmt::format("{} is given twice", entry.first.Scalar()));
      }
    }
    return ok_status();
  }

  // {min: 1, max: 8} or [1, 2, 4]; the line form is read elsewhere.
  Status take_workers(const JobField& field, const YAML::Node& value) {
    wire::WorkerLimits& limits = *spec_.mutable_workers();
    if (value.IsSequence()) {
      for (const auto& count : value) {
        const auto number = worker_number(count);
        if (!number || limits.listed_size() == kJobSizesMax) {
          return field_error(field, count, counts_expected());
        }
        limits.add_listed(*number);
      }
      return ok_status();
    }
    for (const auto& entry : value) {
      const std::string name = entry.first.IsScalar() ? entry.first.Scalar() : "";
      const auto number = worker_number(entry.second);
      if (name != "min" && name != "max") {
        return field_error(field, entry.first,
                           fmt::format("unknown '{}', expected min and max", name));
      }
      if (!number) {
        return field_error(field, entry.second, counts_expected());
      }
      name == "min" ? limits.set_min(*number) : limits.set_max(*number);
    }
    return ok_status();
  }

  Status take_speeds(const JobField& field, const YAML::Node& value) {
    if (!value.IsMap()) {
      return field_error(field, value, "expected steps per second by workers: {1: 10, 2: 19}");
    }
    for (const auto& entry : value) {
      const bool is_plain = entry.first.IsScalar() && entry.second.IsScalar();
      const auto point =
          parse_speeds(is_plain ? entry.first.Scalar() + ":" + entry.second.Scalar() : "");
      if (!point || spec_.speeds_size() == kJobSizesMax) {
        return field_error(field, entry.first, point ? "too many points" : point.error().message);
      }
      *spec_.add_speeds() = point->front();
    }
    return ok_status();
  }

  static std::optional<int> worker_number(const YAML::Node& node) {
    const auto limits = node.IsScalar() ? parse_workers(node.Scalar()) : bad_input("");
    const bool is_one = limits && limits->listed_size() == 0 && limits->min() == limits->max();
    return is_one ? std::optional(limits->min()) : std::nullopt;
  }

  static std::string counts_expected() {
    return fmt::format("expected numbers of workers from 1 to {}", kJobWorkersMax);
  }

  [[nodiscard]] Error error_at(const YAML::Node& node, const std::string& message) const {
    const int line = node.Mark().line < 0 ? 1 : node.Mark().line + 1;
    return bad_input(fmt::format("{}:{}: {}", file_, line, message));
  }

  [[nodiscard]] Error field_error(const JobField& field, const YAML::Node& node,
                                  const std::string& message) const {
    return error_at(node, fmt::format("{}: {}", field.name, message));
  }

  const std::string& file_;
  const WallClock& clock_;
  wire::JobSpec spec_{};
};

/// Hears a document without keeping it.
class UnmovedHandler : public YAML::EventHandler {
 public:
  using Mark = YAML::Mark;
  using Anchor = YAML::anchor_t;
  using Style = YAML::EmitterStyle::value;

  void OnDocumentStart(const Mark& /*mark*/) override {}
  void OnDocumentEnd() override {}
  void OnNull(const Mark& /*mark*/, Anchor /*anchor*/) override {}
  void OnAlias(const Mark& /*mark*/, Anchor /*anchor*/) override {}
  void OnScalar(const Mark& /*mark*/, const std::string& /*tag*/, Anchor /*anchor*/,
                const std::string& /*value*/) override {}
  void OnSequenceStart(const Mark& /*mark*/, const std::string& /*tag*/, Anchor /*anchor*/,
                       Style /*style*/) override {}
  void OnSequenceEnd() override {}
  void OnMapStart(const Mark& /*mark*/, const std::string& /*tag*/, Anchor /*anchor*/,
                  Style /*style*/) override {}
  void OnMapEnd() override {}
};

// YAML::LoadAll() would know, but never returns for some texts, such as a lone comma.
bool has_more_documents(std::string_view text) {
  std::istringstream stream{std::string(text)};
  YAML::Parser parser(stream);
  UnmovedHandler handler;
  parser.HandleNextDocument(handler);
  return static_cast<bool>(parser);
}

}  // namespace

Result<wire::JobSpec> parse_job_file(std::string_view text, const std::string& file,
                                     const WallClock& clock) {
  if (text.size() > kJobFileBytesMax) {
    return bad_input(
        fmt::format("{}: larger than {} bytes: is this a job file?", file, kJobFileBytesMax));
  }
  try {
    const YAML::Node document = YAML::Load(std::string(text));
    if (has_more_documents(text)) {
      return bad_input(fmt::format("{}:1: found more than one document, expected one job", file));
    }
    return JobFileReader(file, clock).read(document);
  } catch (const YAML::Exception& error) {
    const int line = error.mark.line < 0 ? 1 : error.mark.line + 1;
    return bad_input(fmt::format("{}:{}: {}", file, line, error.msg));
  } catch (const std::exception& error) {
    return bad_input(fmt::format("{}: {}", file, error.what()));
  }
}

}  // namespace rubato

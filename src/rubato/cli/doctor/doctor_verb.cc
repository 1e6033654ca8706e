#include "rubato/cli/doctor/doctor_verb.h"

#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include "rubato/cli/doctor/doctor_machine.h"
#include "rubato/cli/doctor/doctor_platform.h"
#include "rubato/cli/platform/local_platform.h"
#include "rubato/cli/text/terminal.h"

namespace rubato {
namespace {

/// What `rubato doctor` was asked for.
struct DoctorFlags {
  ClientFlags client{};
  DoctorPlaces places{};
};

int examine(const DoctorFlags& flags) {
  DoctorPlaces places = flags.places;
  if (places.state_directory.empty()) {
    places.state_directory = default_state_directory();
  }
  DoctorFindings findings = examine_machine(places);
  const bool is_named =
      !flags.client.server.empty() || process_variable("RUBATO_SERVER").has_value();
  for (DoctorFinding& finding : examine_platform(flags.client, is_named)) {
    findings.push_back(std::move(finding));
  }
  fmt::print("{}", flags.client.prints_json ? findings_json(findings)
                                            : findings_text(findings, shows_colour()));
  return findings_exit_code(findings);
}

}  // namespace

void add_doctor_verb(CLI::App& app, int& code) {
  CLI::App* verb = app.add_subcommand(
      "doctor", "Check this machine, and the platform if one runs; returns 1 if something fails");
  const auto flags = std::make_shared<DoctorFlags>();
  verb->add_option("--python", flags->places.python, "Interpreter that training programs use");
  verb->add_option("--state", flags->places.state_directory, "State directory of the platform");
  add_client_flags(*verb, flags->client);
  verb->callback([flags, &code] { code = examine(*flags); });
}

}  // namespace rubato

#include "rubato/cli/doctor/doctor_machine.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <filesystem>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/timex.h>
#include <system_error>
#include <unistd.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "rubato/cli/platform/offered_nodes.h"
#include "rubato/job/worker_environment.h"
#include "rubato/launch/logs/process_output.h"
#include "rubato/launch/process/program_path.h"
#include "rubato/wire/descriptor.h"

namespace rubato {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMebibyte = std::uint64_t{1} << 20U;
constexpr std::uint64_t kGibibyte = std::uint64_t{1} << 30U;
constexpr std::uint64_t kDiskScarce = 2 * kGibibyte;
constexpr std::uint64_t kDiskFull = 100 * kMebibyte;
constexpr std::uint64_t kSharedScarce = 256 * kMebibyte;
constexpr double kFsyncSlow = 0.1;
constexpr int kFsyncRounds = 5;
constexpr rlim_t kDescriptorsMin = 4096;
constexpr std::int64_t kReleased = 1'767'225'600;  // 2026-01-01: clocks before it are wrong.
constexpr const char* kDebianPython = "/usr/bin/python3";
constexpr Duration kPythonPatience = std::chrono::seconds(60);

// What we ask the interpreter. It runs as a worker would, with our settings for OpenBLAS.
constexpr const char* kPythonQuestion = R"(
import json, sys
said = {"python": sys.version.split()[0]}
try:
    import torch
    said["torch"] = torch.__version__
except Exception as error:
    said["torch_error"] = f"{type(error).__name__}: {error}"
else:
    try:
        import rubato
        from rubato import _core, blas
        said["sdk"] = rubato.__version__
        said["sdk_folder"] = rubato.__path__[0]
        speed = blas.matrix_gigaflops(blas.product())
        said["gigaflops"] = speed
        said["blas_warning"] = _core.slow_matrix_warning(speed, blas.cpuinfo())
    except Exception as error:
        said["sdk_error"] = f"{type(error).__name__}: {error}"
print("\n" + json.dumps(said))
)";

DoctorFinding ok(std::string check, std::string found) {
  return {.check = std::move(check), .found = std::move(found)};
}

std::string megabytes(std::uint64_t bytes) {
  return bytes >= 10 * kGibibyte ? fmt::format("{} GiB", bytes / kGibibyte)
                                 : fmt::format("{} MiB", bytes / kMebibyte);
}

std::string own_sdk() { return fs::path(own_program()).parent_path() / "python"; }

Result<std::string> ask_python(const std::string& python) {
  Environment environment = with_python_hook(worker_environment());
  environment["PYTHONPATH"] = own_sdk();
  const auto program = program_path(python, environment, "/");
  if (!program) {
    return program.error();
  }
  return output_of({.argv = {*program, "-c", kPythonQuestion}, .environment = environment},
                   kPythonPatience);
}

// The folder itself, or the nearest one above it that is there: nothing is made to look.
std::string nearest_folder(const std::string& path) {
  std::error_code failure;
  fs::path at = fs::absolute(path, failure);
  while (!at.empty() && !fs::is_directory(at, failure) && at != at.root_path()) {
    at = at.parent_path();
  }
  return at;
}

// Writes as the journal does, and says how long that takes.
DiskLook look_at_disk(const std::string& path) {
  DiskLook look{.path = path};
  struct statvfs status {};
  if (::statvfs(path.c_str(), &status) != 0) {
    look.problem = std::strerror(errno);
    return look;
  }
  look.free_bytes = std::uint64_t{status.f_bavail} * status.f_frsize;
  std::string name = path + "/.rubato-doctor-XXXXXX";
  const Descriptor file(::mkstemp(name.data()));
  if (!file.is_open()) {
    look.problem = std::strerror(errno);
    return look;
  }
  std::array<double, kFsyncRounds> seconds{};
  const std::array<char, 4096> block{};
  for (double& each : seconds) {
    const auto began = std::chrono::steady_clock::now();
    if (::write(file.get(), block.data(), block.size()) < 0 || ::fsync(file.get()) != 0) {
      look.problem = std::strerror(errno);
    }
    each = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  }
  ::unlink(name.c_str());
  std::ranges::sort(seconds);
  look.fsync_seconds = seconds[kFsyncRounds / 2];
  return look;
}

ClockLook look_at_clock() {
  timex state{};
  const int standing = ::adjtimex(&state);
  return {.is_synchronised = standing != TIME_ERROR && (state.status & STA_UNSYNC) == 0,
          .unix_seconds = std::time(nullptr)};
}

DoctorFinding descriptors_finding() {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  if (limit.rlim_max >= kDescriptorsMin) {
    return ok("descriptors", fmt::format("{} files may be open at a time", limit.rlim_max));
  }
  return {
      .check = "descriptors",
      .level = FindingLevel::Warn,
      .found = fmt::format("only {} files may be open at a time", limit.rlim_max),
      .remedy = fmt::format("jobs with many workers need more: ulimit -Hn {}", kDescriptorsMin)};
}

DoctorFinding torch_finding(const std::string& python, const nlohmann::json& said) {
  const std::string version = said.value("python", "");
  if (said.contains("torch")) {
    return ok("torch",
              fmt::format("torch {} with {} {}", said.value("torch", ""), python, version));
  }
  return {.check = "torch",
          .level = FindingLevel::Fail,
          .found = fmt::format("{} {} cannot load torch: {}", python, version,
                               said.value("torch_error", "it says nothing")),
          .remedy =
              "apt-get install python3-torch, which is for /usr/bin/python3; or name the right "
              "interpreter with --python"};
}

DoctorFinding sdk_finding(const nlohmann::json& said) {
  if (!said.contains("sdk")) {
    return {.check = "sdk",
            .level = FindingLevel::Fail,
            .found = fmt::format("the Python package does not load: {}",
                                 said.value("sdk_error", "torch is missing")),
            .remedy =
                "make build puts it beside the program; it fits the interpreter it was built "
                "for"};
  }
  const std::string version = said.value("sdk", "");
  const std::string where = said.value("sdk_folder", "");
  if (version == RUBATO_VERSION) {
    return ok("sdk", fmt::format("Python package {} in {}", version, where));
  }
  return {.check = "sdk",
          .level = FindingLevel::Fail,
          .found = fmt::format("the Python package in {} is {}, this program is {}", where, version,
                               RUBATO_VERSION),
          .remedy = "install both from the same build"};
}

DoctorFinding blas_finding(const nlohmann::json& said) {
  const std::string speed =
      fmt::format("{:.0f} GFLOP/s for one thread of a worker", said.value("gigaflops", 0.0));
  const std::string warning = said.value("blas_warning", "");
  if (warning.empty()) {
    return ok("blas", speed);
  }
  return {.check = "blas",
          .level = FindingLevel::Warn,
          .found = fmt::format("{}: {}", speed, warning),
          .remedy = "apt-get install libopenblas0-pthread; training is many times slower without"};
}

}  // namespace

DoctorFindings python_findings(const std::string& python, const Result<std::string>& answer) {
  if (!answer) {
    return {{.check = "python",
             .level = FindingLevel::Fail,
             .found = fmt::format("{}: {}", python, answer.error().message),
             .remedy = "apt-get install python3-torch, or name the interpreter with --python"}};
  }
  // Libraries may have had something to say before the last line.
  const std::size_t last = answer->rfind("\n{");
  const auto said = nlohmann::json::parse(
      last == std::string::npos ? *answer : answer->substr(last + 1), nullptr, false);
  if (!said.is_object()) {
    return {{.check = "python",
             .level = FindingLevel::Fail,
             .found = fmt::format("{} answers strangely: {}", python, answer->substr(0, 80)),
             .remedy = "name another interpreter with --python"}};
  }
  DoctorFindings findings{torch_finding(python, said), sdk_finding(said)};
  if (said.contains("gigaflops")) {
    findings.push_back(blas_finding(said));
  }
  return findings;
}

DoctorFinding gpu_finding(const Result<GpuListing>& listing) {
  if (!listing && listing.error().code == ErrorCode::NotFound) {
    return ok("gpus", "none (no nvidia-smi): slots are shares of the processors");
  }
  if (!listing) {
    return {.check = "gpus",
            .level = FindingLevel::Fail,
            .found = listing.error().message,
            .remedy = "mend the driver, or offer processors with rubato up --slots N"};
  }
  std::string names;
  for (const FoundGpu& gpu : listing->gpus) {
    names += fmt::format("{}{} ({})", names.empty() ? "" : ", ", gpu.name, gpu.memory);
  }
  if (!listing->notes.empty()) {
    return {
        .check = "gpus",
        .level = FindingLevel::Warn,
        .found = fmt::format("{} of {} work: {}", listing->gpus.size(),
                             listing->gpus.size() + listing->notes.size(), listing->notes.front()),
        .remedy = "nvidia-smi -q says more; the others are used"};
  }
  return ok("gpus", names.empty() ? "none: slots are shares of the processors" : names);
}

DoctorFinding isolation_finding(const IsolationSupport& support) {
  if (support.note.empty()) {
    return ok("isolation", "cgroups for CPU and memory, and user namespaces");
  }
  return {.check = "isolation",
          .level = FindingLevel::Warn,
          .found = support.note,
          .remedy =
              "jobs run without these limits; systemd-run --user -p Delegate=yes rubato up "
              "may grant them"};
}

DoctorFinding disk_finding(const DiskLook& look) {
  const std::string found = fmt::format("{}: {} free, fsync takes {:.1f} ms", look.path,
                                        megabytes(look.free_bytes), 1000 * look.fsync_seconds);
  if (!look.problem.empty()) {
    return {.check = "disk",
            .level = FindingLevel::Fail,
            .found = fmt::format("{} cannot be written: {}", look.path, look.problem),
            .remedy = "choose another directory with --state"};
  }
  if (look.free_bytes < kDiskScarce) {
    return {.check = "disk",
            .level = look.free_bytes < kDiskFull ? FindingLevel::Fail : FindingLevel::Warn,
            .found = found,
            .remedy = "journal, logs and snapshots need room: free some or choose another --state"};
  }
  if (look.fsync_seconds > kFsyncSlow) {
    return {.check = "disk",
            .level = FindingLevel::Warn,
            .found = found,
            .remedy = "every answer waits for the journal: a local disk is faster"};
  }
  return ok("disk", found);
}

DoctorFinding shared_memory_finding(const DiskLook& look) {
  if (!look.problem.empty()) {
    return {.check = "shm",
            .level = FindingLevel::Warn,
            .found = fmt::format("{} cannot be written: {}", look.path, look.problem),
            .remedy = "our workers do without, programs of others often do not"};
  }
  const std::string found = fmt::format("{}: {} free", look.path, megabytes(look.free_bytes));
  if (look.free_bytes >= kSharedScarce) {
    return ok("shm", found);
  }
  return {.check = "shm",
          .level = FindingLevel::Warn,
          .found = found,
          .remedy = "data loaders of PyTorch share batches there: docker run --shm-size=1g"};
}

DoctorFinding clock_finding(const ClockLook& look) {
  if (look.unix_seconds < kReleased) {
    return {.check = "clock",
            .level = FindingLevel::Fail,
            .found = "the clock shows a year long past",
            .remedy = "set it: deadlines are moments of this clock"};
  }
  if (!look.is_synchronised) {
    return {.check = "clock",
            .level = FindingLevel::Warn,
            .found = "nobody keeps the clock right",
            .remedy = "deadlines are moments of this clock: apt-get install chrony"};
  }
  return ok("clock", "kept right by the network");
}

DoctorFindings examine_python(const std::string& named) {
  const std::string first = named.empty() ? "python3" : named;
  DoctorFindings findings = python_findings(first, ask_python(first));
  if (!named.empty() || findings_exit_code(findings) == 0) {
    return findings;
  }
  DoctorFindings others = python_findings(kDebianPython, ask_python(kDebianPython));
  if (findings_exit_code(others) != 0) {
    return findings;
  }
  others.push_back({.check = "python",
                    .level = FindingLevel::Warn,
                    .found = "python3 is another interpreter, without torch",
                    .remedy = fmt::format("write {} in your commands", kDebianPython)});
  return others;
}

DoctorFindings examine_machine(const DoctorPlaces& places) {
  DoctorFindings findings{
      ok("program", fmt::format("rubato {} on {} processors", RUBATO_VERSION, cpus_here()))};
  for (DoctorFinding& finding : examine_python(places.python)) {
    findings.push_back(std::move(finding));
  }
  findings.push_back(gpu_finding(list_gpus(inherited_environment())));
  findings.push_back(shared_memory_finding(look_at_disk(places.shared_memory)));
  findings.push_back(disk_finding(look_at_disk(nearest_folder(places.state_directory))));
  findings.push_back(isolation_finding(isolation_support()));
  findings.push_back(descriptors_finding());
  findings.push_back(clock_finding(look_at_clock()));
  return findings;
}

}  // namespace rubato

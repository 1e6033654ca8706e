#include "rubato/cli/demo/demo_jobs.h"

#include <array>
#include <filesystem>
#include <system_error>

#include <fmt/format.h>

#include "rubato/job/worker_environment.h"

namespace rubato {
namespace {

namespace fs = std::filesystem;

constexpr int kImageBatch = 256;
constexpr int kTextBatch = 32;
constexpr int kPairImages = 12'800;
constexpr int kPairEpochs = 3;

/// A file that the programs read, and the package that has it.
struct NeededFile {
  const char* path = "";
  const char* package = "";
};
constexpr std::array<NeededFile, 3> kNeeded = {
    NeededFile{"/usr/share/datasets/fashion-mnist/train-images-idx3-ubyte.gz",
               "dataset-fashion-mnist"},
    NeededFile{"/usr/share/dictd/gcide.dict.dz", "dict-gcide"},
    NeededFile{"/usr/bin/python3", "python3-torch"},
};

Error missing(const std::string& what, const std::string& remedy) {
  return {.code = ErrorCode::BadConfig,
          .message = fmt::format("there is no {}: {}; `rubato demo --sim` needs none of this", what,
                                 remedy)};
}

std::string found_examples(const std::string& wanted) {
  const fs::path own = fs::path(own_program()).parent_path();
  std::error_code failure;
  for (const fs::path& each :
       {fs::path(wanted), own.parent_path() / "examples", fs::path("examples")}) {
    if (!each.empty() && fs::exists(each / "fashion_mnist" / "train.py", failure)) {
      return fs::absolute(each, failure).lexically_normal();
    }
  }
  return "";
}

wire::JobSpec demo_spec(const std::vector<std::string>& command, const std::string& model,
                        int batch, int steps) {
  wire::JobSpec spec;
  spec.mutable_command()->Assign(command.begin(), command.end());
  spec.set_model(model);
  spec.set_batch(batch);
  spec.set_steps(steps);
  return spec;
}

}  // namespace

Result<DemoPrograms> find_demo_programs(const std::string& examples) {
  std::error_code failure;
  for (const NeededFile& file : kNeeded) {
    if (!fs::exists(file.path, failure)) {
      return missing(file.path, fmt::format("apt-get install {}", file.package));
    }
  }
  DemoPrograms programs;
  programs.examples = found_examples(examples);
  if (programs.examples.empty()) {
    return missing("folder of training programs", "name it with --examples");
  }
  programs.compiled = fs::path(own_program()).parent_path() / "fashion_mnist_cpp";
  if (!fs::exists(programs.compiled, failure)) {
    return missing(programs.compiled, "make build");
  }
  return programs;
}

wire::JobSpec demo_images(const DemoPrograms& programs, int epochs) {
  return demo_spec(
      {programs.python, programs.examples + "/fashion_mnist/train.py", "--epochs",
       std::to_string(epochs), "--limit", std::to_string(kDemoStepsPerEpoch * kImageBatch)},
      "fashion_mnist", kImageBatch, epochs * kDemoStepsPerEpoch);
}

wire::JobSpec demo_text_model(const DemoPrograms& programs, int steps) {
  return demo_spec({programs.python, programs.examples + "/dictionary_lm/train.py", "--steps",
                    std::to_string(steps)},
                   "dictionary_lm", kTextBatch, steps);
}

wire::JobSpec demo_pair(const DemoPrograms& programs) {
  wire::JobSpec spec =
      demo_spec({programs.compiled, "--epochs", std::to_string(kPairEpochs), "--limit",
                 std::to_string(kPairImages)},
                "fashion_mnist_cpp", kImageBatch, kPairEpochs * kPairImages / kImageBatch);
  spec.mutable_workers()->add_listed(2);
  return spec;
}

}  // namespace rubato

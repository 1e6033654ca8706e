#include "rubato/policy/artifact/caps.h"

#include <algorithm>
#include <array>
#include <span>

namespace rubato::policy::artifact {
namespace {

constexpr int kMost = 64;  // The largest count anybody profiled.
constexpr int kAnyBatch = 0;

struct Cap {
  std::string_view model;
  int batch;  // kAnyBatch: whatever is not listed before.
  int gpus;
};

constexpr std::array kA100 = {
    Cap{"bert", 64, 8},      Cap{"bert", kAnyBatch, 16}, Cap{"gpt2", 128, 16},
    Cap{"gpt2", 256, 32},    Cap{"inception3", 64, 16},  Cap{"inception3", 128, 32},
    Cap{"resnet50", 64, 32}, Cap{"vgg16", 64, 32},
};

constexpr std::array kT4 = {
    Cap{"bert", kAnyBatch, 16},  Cap{"cifar10", kAnyBatch, 16}, Cap{"deepspeech2", 320, 32},
    Cap{"yolov3", kAnyBatch, 4}, Cap{"ncf", kAnyBatch, 1},
};

// The first row for this model and batch; `otherwise` if there is none.
int look_up(std::span<const Cap> caps, std::string_view model, int batch, int otherwise) {
  const auto found = std::ranges::find_if(caps, [&](const Cap& cap) {
    return cap.model == model && (cap.batch == batch || cap.batch == kAnyBatch);
  });
  return found == caps.end() ? otherwise : found->gpus;
}

}  // namespace

int gpus_max(std::string_view model, int batch, std::string_view gpu_type) {
  if (gpu_type == "T4") {
    return look_up(kT4, model, batch, kMost);
  }
  return look_up(kA100, model, batch, batch > 0 ? std::min(batch, kMost) : kMost);
}

}  // namespace rubato::policy::artifact

// Fashion-MNIST with a small network, elastically, in C++.
//
//   rubato train --workers 2 --resize "at step 60: 4" -- build/fashion_mnist_cpp --epochs 1
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>
#include <zlib.h>

#include <torch/torch.h>

#include "rubato/runtime/worker/trainer.h"

namespace {

constexpr std::int64_t kPixels = 28 * 28;

struct Flags {
  std::string data = "/usr/share/datasets/fashion-mnist";
  std::uint64_t epochs = 1;
  std::uint64_t batch = 256;
  std::int64_t limit = 60000;  // Images to train with.
  bool is_deterministic = false;
};

// The bytes of an idx file after its header.
std::vector<unsigned char> read_idx(const std::string& path, std::size_t header,
                                    std::size_t bytes) {
  std::vector<unsigned char> content(header + bytes);
  gzFile file = gzopen(path.c_str(), "rb");
  const bool is_whole =
      file != nullptr && gzread(file, content.data(), static_cast<unsigned>(content.size())) ==
                             static_cast<int>(content.size());
  if (file != nullptr) {
    gzclose(file);
  }
  if (!is_whole) {
    std::fprintf(stderr, "cannot read %s: is dataset-fashion-mnist installed?\n", path.c_str());
    std::exit(EXIT_FAILURE);
  }
  content.erase(content.begin(), content.begin() + static_cast<std::ptrdiff_t>(header));
  return content;
}

struct Images {
  torch::Tensor pixels{};
  torch::Tensor labels{};
};

Images load(const Flags& flags, const std::string& kind, std::int64_t count) {
  auto pixels = read_idx(flags.data + "/" + kind + "-images-idx3-ubyte.gz", 16,
                         static_cast<std::size_t>(count * kPixels));
  auto labels = read_idx(flags.data + "/" + kind + "-labels-idx1-ubyte.gz", 8,
                         static_cast<std::size_t>(count));
  return {.pixels = torch::from_blob(pixels.data(), {count, 1, 28, 28}, torch::kUInt8)
                        .to(torch::kFloat32)
                        .div(255),
          .labels = torch::from_blob(labels.data(), {count}, torch::kUInt8).to(torch::kInt64)};
}

std::shared_ptr<torch::nn::Module> as_module(const torch::nn::Sequential& model) {
  return model.ptr();
}

torch::nn::Sequential network() {
  namespace nn = torch::nn;
  return nn::Sequential(nn::Conv2d(nn::Conv2dOptions(1, 16, 3).stride(2)), nn::BatchNorm2d(16),
                        nn::ReLU(), nn::Conv2d(nn::Conv2dOptions(16, 32, 3).stride(2)), nn::ReLU(),
                        nn::Flatten(), nn::Linear(32 * 6 * 6, 10));
}

double accuracy(torch::nn::Sequential& model, const Images& test) {
  const torch::NoGradGuard no_grad;
  model->eval();
  const auto guesses = model->forward(test.pixels).argmax(1);
  model->train();
  return guesses.eq(test.labels).to(torch::kFloat32).mean().item<double>();
}

Flags read_flags(int count, char** arguments) {
  Flags flags;
  for (int i = 1; i + 1 < count; i += 2) {
    const std::string name = arguments[i];
    const std::string value = arguments[i + 1];
    if (name == "--epochs") {
      flags.epochs = std::stoul(value);
    } else if (name == "--batch") {
      flags.batch = std::stoul(value);
    } else if (name == "--limit") {
      flags.limit = std::stol(value);
    } else if (name == "--deterministic") {
      flags.is_deterministic = value == "yes";
    } else if (name == "--data") {
      flags.data = value;
    } else {
      std::fprintf(stderr, "unknown flag %s\n", name.c_str());
      std::exit(EXIT_FAILURE);
    }
  }
  return flags;
}

}  // namespace

int main(int count, char** arguments) {
  const Flags flags = read_flags(count, arguments);
  torch::set_num_threads(1);
  torch::manual_seed(1);
  const Images train = load(flags, "train", flags.limit);
  torch::nn::Sequential model = network();
  torch::optim::SGD optimizer(model->parameters(), torch::optim::SGDOptions(0.05).momentum(0.9));

  rubato::Trainer trainer(as_module(model), optimizer,
                          {.samples = static_cast<std::uint64_t>(flags.limit),
                           .batch = flags.batch,
                           .epochs = flags.epochs,
                           .is_deterministic = flags.is_deterministic});
  while (const rubato::TrainerPart* part = trainer.next()) {
    const auto rows =
        torch::tensor(std::vector<std::int64_t>(part->samples.begin(), part->samples.end()));
    const auto guesses = model->forward(train.pixels.index_select(0, rows));
    trainer.step(torch::nn::functional::cross_entropy(guesses, train.labels.index_select(0, rows)));
  }
  if (!trainer.status()) {
    std::fprintf(stderr, "%s\n", trainer.status().error().message.c_str());
    return EXIT_FAILURE;
  }
  if (trainer.is_complete() && trainer.is_leader()) {
    std::printf("accuracy %.4f\n", accuracy(model, load(flags, "t10k", 10000)));
  }
  return EXIT_SUCCESS;
}

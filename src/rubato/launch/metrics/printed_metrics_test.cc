#include "rubato/launch/metrics/printed_metrics.h"

#include <cmath>
#include <cstdint>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace rubato::launch::metrics {
namespace {

// `loss=0.5 acc=0.91`: what was found in a line.
std::string found_in(std::string_view line) {
  std::string text;
  for (const PrintedNumber& number : printed_metrics(line)) {
    text += fmt::format("{}{}={:.6g}", text.empty() ? "" : " ", number.name, number.value);
  }
  return text;
}

/// A line, and what is to be found in it.
struct PrintedLine {
  std::string_view line{};
  std::string_view found{};
};

TEST(PrintedMetrics, FindsNamesAndNumbersInLinesAsScriptsPrintThem) {
  const PrintedLine lines[] = {
      {"epoch 3: train loss 0.53, val acc=0.91, lr 1e-3", "train_loss=0.53 val_acc=0.91 lr=0.001"},
      {"loss: 0.5 | acc: 87.3%", "loss=0.5 acc=0.873"},
      {"[100/938] loss=0.3", "loss=0.3"},
      {"Loss: 2.300039", "Loss=2.30004"},
      {"Train Epoch: 1 [640/60000 (1%)]\tLoss: 1.778192", "Loss=1.77819"},
      {"Test set: Average loss: 0.0288, Accuracy: 9902/10000 (99%)",
       "Average_loss=0.0288 Accuracy=0.9902"},
      {"Epoch: [0][10/100]\tTime  0.310 ( 0.412)\tData  0.1 (0.2)\tLoss 6.9012e+00 (7.0e+00)\t"
       "Acc@1   0.39 (  0.28)",
       "Loss=6.9012 Acc@1=0.39"},
      {"938/938 [==============] - 5s 5ms/step - loss: 0.2584 - accuracy: 0.9245 - "
       "val_loss: 0.1357 - val_accuracy: 0.9597",
       "loss=0.2584 accuracy=0.9245 val_loss=0.1357 val_accuracy=0.9597"},
      {" 45%|\u2588\u2588\u258c   | 422/938 [00:12<00:14, 35.2it/s, loss=0.312]\r", "loss=0.312"},
      {"Epoch 0: 100%|##| 10/10 [00:00<00:00, 98.36it/s, v_num=3, train_loss=0.5]",
       "train_loss=0.5"},
      {"{'loss': 0.6931, 'learning_rate': 5e-05, 'epoch': 1.0}", "loss=0.6931 learning_rate=5e-05"},
      {"loss: tensor(0.3012, grad_fn=<NllLossBackward0>)", "loss=0.3012"},
      {"2024-01-02 10:11:12,345 INFO train: loss=0.25 ppl=12", "loss=0.25 ppl=12"},
      {"INFO:root:step 100 loss: 0.3", "loss=0.3"},
      {"12:30:45 | epoch=3 | loss=1.5 | grad_norm=0.8 | lr=1.00e-04",
       "loss=1.5 grad_norm=0.8 lr=0.0001"},
      {"\x1b[32mval_loss\x1b[0m: 0.75", "val_loss=0.75"},
      {"The test accuracy is: 0.9", "test_accuracy=0.9"},
      {"final loss was 0.25", "final_loss=0.25"},
      {"Accuracy of the network on the 10000 test images: 55 %", "Accuracy=0.55"},
      {"[1,  2000] loss: 2.204", "loss=2.204"},
      {"Finished. Test accuracy: 0.9.", "Test_accuracy=0.9"},
      {"loss nan", "loss=nan"},
      {"Loss: inf, reward -3", "Loss=nan reward=-3"},
      {"loss:0.5,acc:0.25;kl:.125", "loss=0.5 acc=0.25 kl=0.125"},
      {"loss = 5.0e-01 (best 0.4)", "loss=0.5"},
      {"temperature: 0.7", "temperature=0.7"},
      {"loss 0.5 loss 0.7", "loss=0.5"},
      {"episode 10 return 200 entropy 1.09", "return=200 entropy=1.09"},
  };
  for (const PrintedLine& each : lines) {
    EXPECT_EQ(found_in(each.line), each.found) << each.line;
  }
}

TEST(PrintedMetrics, FindsNothingWhereNumbersAreNoMetrics) {
  const std::string_view lines[] = {
      "",
      "\n",
      "0.53 0.91 17",
      "100",
      "2024-01-02 10:11:12",
      "started at 2024-01-02T10:11:12.345Z",
      "epoch 3 of 10",
      "Epoch 3/10",
      "batch_size: 64, seed=42, epochs: 3, weight_decay=0.01",
      "time: 12.3s, speed: 35.2it/s, memory 0.5GB",
      "elapsed: 12.5, eta: 3.25",
      "torch: 1.13.1",
      "listening on http://127.0.0.1:8080 loss=0.5",
      "host: 127.0.0.1",
      "Namespace(batch_size=64, lr=0.01, epochs=3)",
      "(dropout): Dropout(p=0.25, inplace=False)",
      "(bn): BatchNorm1d(64, eps=1e-05, momentum=0.1, affine=True)",
      "  File \"train.py\", line 12, in main",
      "/data/loss:0.5",
      "port: 8080, found: 3 files",
      "accuracy: 12/10",
      "loss: 1,234.5",
      "loss: 0x1f",
      "loss 3rd",
      "no numbers here",
      "loss:",
      "loss=",
      "loss   ",
  };
  for (const std::string_view line : lines) {
    EXPECT_EQ(found_in(line), "") << line;
  }
}

TEST(PrintedMetrics, LooksIntoJsonObjects) {
  EXPECT_EQ(found_in(R"({"epoch": 3, "step": 100, "loss": 0.5, "ok": true, "name": "loss"})"),
            "loss=0.5");
  EXPECT_EQ(found_in(R"(  {"val": {"loss": 1.5, "acc": 1}, "lr": 1e-3, "gpu": 0.5}  )"),
            "val/loss=1.5 val/acc=1 lr=0.001");
  EXPECT_EQ(found_in(R"({"loss": 0.5, )"), "loss=0.5");
  EXPECT_EQ(found_in(R"([{"loss": "0.5"}])"), "");
  EXPECT_EQ(found_in(R"({"pid": 12, "level": 30, "time": 1690000000.5})"), "");
}

TEST(PrintedMetrics, DoesNotLookIntoLongOrBinaryLines) {
  const std::string blanks(kPrintedLineMax, ' ');
  EXPECT_EQ(found_in(blanks + "loss=0.5"), "");
  EXPECT_EQ(found_in(std::string("\0loss=0.5", 9)), "");
  EXPECT_EQ(found_in("\x01loss=0.5"), "");
  EXPECT_EQ(found_in("\xff\xfe loss=0.5"), "loss=0.5");  // No UTF-8, but nothing hidden either.
  EXPECT_EQ(found_in("\x1b[31"), "");
}

TEST(PrintedMetrics, StopsAtTheLimitOfPairs) {
  std::string line;
  for (int i = 0; i < 100; ++i) {
    line += fmt::format("a{}=0.5 ", i);
  }

  EXPECT_EQ(printed_metrics(line).size(), kPrintedPairsMax);
}

TEST(PrintedMetrics, TakesAnyBytes) {
  std::uint32_t state = 1;
  const std::string_view letters = "loss=:.,%/0123456789eE+-_ \t\r\x1b[(){}\"'@|\xc3\xa9";
  for (int round = 0; round < 20'000; ++round) {
    std::string line;
    for (int i = 0; i < round % 40; ++i) {
      state = state * 1664525U + 1013904223U;
      line += letters[(state >> 16U) % letters.size()];
    }
    for (const PrintedNumber& number : printed_metrics(line)) {
      ASSERT_FALSE(number.name.empty()) << line;
      ASSERT_TRUE(std::isfinite(number.value) || std::isnan(number.value)) << line;
    }
  }
}

}  // namespace
}  // namespace rubato::launch::metrics

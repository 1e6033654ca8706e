"""A Trainer in the manner of a well-known library: arguments, outputs with a loss, checkpoints."""
import json
import os
from collections import OrderedDict
from dataclasses import asdict, dataclass

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class ModelOutput(OrderedDict):
    def __getattr__(self, name):
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name)


@dataclass
class TrainingArguments:
    output_dir: str = "output"
    learning_rate: float = 5e-4
    per_device_train_batch_size: int = 32
    gradient_accumulation_steps: int = 2
    num_train_epochs: int = 3
    save_steps: int = 10
    max_grad_norm: float = 1.0
    seed: int = 42


class Reviews(Dataset):
    def __init__(self, count, length=24, words=200):
        g = torch.Generator().manual_seed(9)
        self.ids = torch.randint(1, words, (count, length), generator=g)
        self.lengths = torch.randint(8, length + 1, (count,), generator=g)
        self.labels = (self.ids[:, :8] % 7).sum(1) % 4

    def __len__(self):
        return len(self.ids)

    def __getitem__(self, at):
        mask = (torch.arange(self.ids.shape[1]) < self.lengths[at]).long()
        return {"input_ids": self.ids[at] * mask, "attention_mask": mask,
                "labels": self.labels[at]}


class TextClassifier(nn.Module):
    def __init__(self, words=200, width=96, labels=4):
        super().__init__()
        self.embeddings = nn.Embedding(words, width, padding_idx=0)
        layer = nn.TransformerEncoderLayer(width, 4, 192, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2)
        self.classifier = nn.Linear(width, labels)

    def forward(self, input_ids=None, attention_mask=None, labels=None):
        hidden = self.embeddings(input_ids)
        hidden = self.encoder(hidden, src_key_padding_mask=attention_mask == 0)
        weights = attention_mask.unsqueeze(-1).to(hidden.dtype)
        pooled = (hidden * weights).sum(1) / weights.sum(1)
        logits = self.classifier(pooled)
        loss = None
        if labels is not None:
            loss = nn.CrossEntropyLoss()(logits.view(-1, 4), labels.view(-1))
        return ModelOutput(loss=loss, logits=logits)


class Trainer:
    def __init__(self, model, args, train_dataset, eval_dataset):
        self.model, self.args = model, args
        self.train_dataset, self.eval_dataset = train_dataset, eval_dataset
        decay = [p for n, p in model.named_parameters() if not n.endswith("bias")]
        rest = [p for n, p in model.named_parameters() if n.endswith("bias")]
        self.optimizer = torch.optim.AdamW([{"params": decay, "weight_decay": 0.01},
                                            {"params": rest, "weight_decay": 0.0}],
                                           lr=args.learning_rate, eps=1e-4)
        self.state = {"global_step": 0, "log_history": []}

    def training_step(self, inputs):
        self.model.train()
        outputs = self.model(**inputs)
        loss = outputs.loss / self.args.gradient_accumulation_steps
        loss.backward()
        return loss.detach()

    def train(self):
        args = self.args
        loader = DataLoader(self.train_dataset, args.per_device_train_batch_size, shuffle=True)
        total = len(loader) // args.gradient_accumulation_steps * args.num_train_epochs
        scheduler = torch.optim.lr_scheduler.LambdaLR(
            self.optimizer, lambda s: min(1.0, (s + 1) / 4) * max(0.0, (total - s) / total))
        running = torch.tensor(0.0)
        for epoch in range(args.num_train_epochs):
            for step, inputs in enumerate(loader):
                running += self.training_step(inputs)
                if (step + 1) % args.gradient_accumulation_steps == 0:
                    nn.utils.clip_grad_norm_(self.model.parameters(), args.max_grad_norm)
                    self.optimizer.step()
                    scheduler.step()
                    self.model.zero_grad()
                    self.state["global_step"] += 1
                    if self.state["global_step"] % args.save_steps == 0:
                        self.save()
            metrics = self.evaluate()
            self.state["log_history"].append({"epoch": epoch + 1, "loss": round(
                running.item() / len(loader), 5), **metrics})
            print(self.state["log_history"][-1])
            running -= running
        return self.state["log_history"][-1]

    @torch.no_grad()
    def evaluate(self):
        self.model.eval()
        losses, hits = [], 0
        for inputs in DataLoader(self.eval_dataset, 64):
            outputs = self.model(**inputs)
            losses.append(outputs.loss.item())
            hits += (outputs.logits.argmax(-1) == inputs["labels"]).sum().item()
        return {"eval_loss": round(sum(losses) / len(losses), 5), "hits": hits}

    def save(self):
        folder = os.path.join(self.args.output_dir, f"checkpoint-{self.state['global_step']}")
        os.makedirs(folder)
        torch.save(self.model.state_dict(), os.path.join(folder, "model.pt"))
        with open(os.path.join(folder, "args.json"), "w") as f:
            json.dump(asdict(self.args), f)


def main():
    args = TrainingArguments()
    torch.manual_seed(args.seed)
    model = TextClassifier()
    data = Reviews(640)
    trainer = Trainer(model, args, torch.utils.data.Subset(data, range(512)),
                      torch.utils.data.Subset(data, range(512, 640)))
    last = trainer.train()
    norm = sum(p.norm().item() ** 2 for p in model.parameters()) ** 0.5
    print(f"FINAL steps {trainer.state['global_step']} norm {norm:.6f} "
          f"loss {last['eval_loss']:.5f}")


if __name__ == "__main__":
    main()

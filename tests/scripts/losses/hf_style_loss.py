"""Hugging Face style: model(**batch) returns an object whose first field is the scalar loss."""
from dataclasses import dataclass
from typing import Optional

import torch
from torch import nn
from torch.utils.data import DataLoader


@dataclass
class Config:
    vocab_size: int = 120
    hidden_size: int = 48
    num_heads: int = 4
    num_layers: int = 2
    num_labels: int = 3
    max_length: int = 20


class ModelOutput(dict):
    def __getattr__(self, name):
        return self[name]


class Encoder(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.word = nn.Embedding(config.vocab_size, config.hidden_size)
        self.position = nn.Embedding(config.max_length, config.hidden_size)
        layer = nn.TransformerEncoderLayer(config.hidden_size, config.num_heads, 96, dropout=0.0,
                                           batch_first=True)
        self.layers = nn.TransformerEncoder(layer, config.num_layers)

    def forward(self, input_ids, attention_mask):
        place = torch.arange(input_ids.size(1)).unsqueeze(0)
        hidden = self.word(input_ids) + self.position(place)
        return self.layers(hidden, src_key_padding_mask=attention_mask == 0)


class ForSequenceClassification(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config
        self.encoder = Encoder(config)
        self.classifier = nn.Linear(config.hidden_size, config.num_labels)

    def forward(self, input_ids, attention_mask, labels: Optional[torch.Tensor] = None):
        hidden = self.encoder(input_ids, attention_mask)
        logits = self.classifier(hidden[:, 0])
        loss = None
        if labels is not None:
            loss = nn.CrossEntropyLoss()(logits.view(-1, self.config.num_labels), labels.view(-1))
        return ModelOutput(loss=loss, logits=logits)


def make_rows(config, count):
    rows = []
    for _ in range(count):
        length = int(torch.randint(8, config.max_length + 1, ()))
        ids = torch.randint(1, config.vocab_size, (config.max_length,))
        mask = (torch.arange(config.max_length) < length).long()
        rows.append({"input_ids": ids * mask, "attention_mask": mask, "labels": ids[0] % 3})
    return rows


def main():
    torch.manual_seed(239)
    config = Config()
    train = DataLoader(make_rows(config, 480), batch_size=24, shuffle=True)
    test = DataLoader(make_rows(config, 96), batch_size=48)
    model = ForSequenceClassification(config)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for epoch in range(3):
        model.train()
        for batch in train:
            outputs = model(**batch)
            outputs.loss.backward()
            optimizer.step()
            optimizer.zero_grad()
        model.eval()
        hits, total = 0, 0.0
        with torch.no_grad():
            for batch in test:
                outputs = model(**batch)
                total += outputs.loss.item()
                hits += (outputs.logits.argmax(-1) == batch["labels"]).sum().item()
        print(f"epoch {epoch}: eval loss {total / 2:.5f}, right {hits} of 96")
    norm = sum(p.norm().item() ** 2 for p in model.parameters()) ** 0.5
    print(f"FINAL norm {norm:.6f} loss {total / 2:.6f}")


if __name__ == "__main__":
    main()

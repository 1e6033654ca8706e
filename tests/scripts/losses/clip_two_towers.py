"""Two towers whose forward returns the matrix of similarities of all pairs of the batch."""
import numpy as np
import torch
from torch import nn
from torch.nn import functional as F


class CLIP(nn.Module):
    def __init__(self, width=128):
        super().__init__()
        self.visual = nn.Sequential(nn.Linear(192, 384), nn.GELU(), nn.Linear(384, width))
        self.token_embedding = nn.Embedding(300, 128)
        self.transformer = nn.TransformerEncoderLayer(128, 4, 256, dropout=0.0, batch_first=True)
        self.text_projection = nn.Parameter(torch.randn(128, width) * 128 ** -0.5)
        self.logit_scale = nn.Parameter(torch.ones([]) * np.log(1 / 0.2))

    def encode_image(self, image):
        return F.normalize(self.visual(image), dim=-1)

    def encode_text(self, text):
        x = self.transformer(self.token_embedding(text))
        x = x[torch.arange(x.shape[0]), text.argmax(dim=-1)] @ self.text_projection
        return F.normalize(x, dim=-1)

    def forward(self, image, text):
        logits = self.logit_scale.exp() * self.encode_image(image) @ self.encode_text(text).t()
        return logits, logits.t()


torch.manual_seed(8)
text = torch.randint(1, 290, (640, 12))
text[:, -1] = 299
image = torch.randn(640, 192) + 0.5 * torch.randn(300, 192)[text[:, 0]]
model = CLIP()
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-4, betas=(0.9, 0.98), eps=1e-4)
for epoch in range(5):
    order = torch.randperm(640)
    for chunk in order.chunk(8):
        per_image, per_text = model(image[chunk], text[chunk])
        labels = torch.arange(len(chunk))
        loss = (F.cross_entropy(per_image, labels) + F.cross_entropy(per_text, labels)) / 2
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        with torch.no_grad():
            model.logit_scale.clamp_(0, np.log(100))
    with torch.no_grad():
        features = model.encode_image(image[:64]) @ model.encode_text(text[:64]).t()
    hits = (features.argmax(1) == torch.arange(64)).sum().item()
    print(f"epoch {epoch} loss {loss.item():.6f} hits {hits}")
norm = sum(p.norm().item() ** 2 for p in model.parameters()) ** 0.5
print(f"FINAL norm {norm:.6f} loss {loss.item():.6f} scale {model.logit_scale.item():.6f}")

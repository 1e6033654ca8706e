"""Detection: images and targets are lists, targets are dicts of boxes; losses come as a dict."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


class Boxes(Dataset):
    def __init__(self, n):
        self.n = n

    def __len__(self):
        return self.n

    def __getitem__(self, idx):
        g = torch.Generator().manual_seed(1000 + idx)
        image = 0.1 * torch.randn(1, 32, 32, generator=g)
        count = int(torch.randint(0, 4, (1,), generator=g))
        corner = torch.randint(0, 20, (count, 2), generator=g)
        size = torch.randint(5, 12, (count, 2), generator=g)
        labels = torch.randint(0, 2, (count,), generator=g)
        for (x, y), (w, h), label in zip(corner, size, labels):
            image[0, y:y + h, x:x + w] += 1.0 if label else -1.0
        boxes = torch.cat([corner, corner + size], 1).to(image.dtype)
        return image, {"boxes": boxes, "labels": labels, "image_id": torch.tensor([idx])}


def collate_fn(batch):
    return tuple(zip(*batch))


class Detector(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Sequential(
            nn.Conv2d(1, 24, 3, 2, 1), nn.ReLU(), nn.Conv2d(24, 48, 3, 2, 1), nn.ReLU(),
            nn.Conv2d(48, 48, 3, 1, 1), nn.ReLU())
        self.cls = nn.Conv2d(48, 2, 1)
        self.reg = nn.Conv2d(48, 4, 1)
        self.obj = nn.Conv2d(48, 1, 1)

    def forward(self, images, targets=None):
        features = self.backbone(torch.stack(list(images)))
        cls, reg, obj = self.cls(features), self.reg(features), self.obj(features)
        if not self.training:
            return [{"scores": o.flatten().sigmoid(), "boxes": r.flatten(1).t()}
                    for o, r in zip(obj, reg)]
        cells = torch.zeros_like(obj)
        picked_cls, picked_reg, want_cls, want_reg = [], [], [], []
        for i, target in enumerate(targets):
            if len(target["boxes"]) == 0:
                continue
            centre = (target["boxes"][:, :2] + target["boxes"][:, 2:]) / 2
            cx, cy = (centre / 4).long().clamp(0, 7).unbind(1)
            cells[i, 0, cy, cx] = 1.0
            picked_cls.append(cls[i, :, cy, cx].t())
            picked_reg.append(reg[i, :, cy, cx].t())
            want_cls.append(target["labels"])
            want_reg.append(target["boxes"] / 32)
        return {"loss_objectness": F.binary_cross_entropy_with_logits(obj, cells),
                "loss_classifier": F.cross_entropy(torch.cat(picked_cls), torch.cat(want_cls)),
                "loss_box_reg": F.smooth_l1_loss(torch.cat(picked_reg), torch.cat(want_reg))}


def main():
    torch.manual_seed(3)
    loader = DataLoader(Boxes(320), batch_size=32, shuffle=True, collate_fn=collate_fn)
    model = Detector()
    params = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.SGD(params, lr=0.02, momentum=0.9, weight_decay=0.0005)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=3, gamma=0.1)
    for epoch in range(4):
        model.train()
        for images, targets in loader:
            loss_dict = model(images, [{k: v for k, v in t.items()} for t in targets])
            losses = sum(loss for loss in loss_dict.values())
            optimizer.zero_grad()
            losses.backward()
            optimizer.step()
        scheduler.step()
        print(epoch, " ".join(f"{k}: {v.item():.5f}" for k, v in sorted(loss_dict.items())))
    model.eval()
    with torch.no_grad():
        found = model([Boxes(400)[i][0] for i in range(320, 352)])
    score = sum(f["scores"].max().item() for f in found) / len(found)
    norm = sum(p.norm().item() ** 2 for p in model.parameters()) ** 0.5
    print(f"FINAL norm {norm:.6f} loss {losses.item():.6f} score {score:.6f}")


if __name__ == "__main__":
    main()

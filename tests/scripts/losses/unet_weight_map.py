"""U-Net with skips; binary masks, a weight for every pixel."""
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(37)


class Shapes(Dataset):
    def __init__(self, count):
        yy, xx = torch.meshgrid(torch.arange(24), torch.arange(24), indexing="ij")
        centre = torch.randint(6, 18, (count, 2))
        self.masks = (((yy[None] - centre[:, :1, None]) ** 2
                       + (xx[None] - centre[:, 1:, None]) ** 2)
                      < 20).to(torch.get_default_dtype()).unsqueeze(1)
        self.images = self.masks + 0.8 * torch.randn(count, 1, 24, 24)

    def __len__(self):
        return len(self.images)

    def __getitem__(self, i):
        weight = 1.0 + 3.0 * self.masks[i]
        return self.images[i], self.masks[i], weight


class UNet(nn.Module):
    def __init__(self, c=8):
        super().__init__()
        block = lambda i, o: nn.Sequential(
            nn.Conv2d(i, o, 3, padding=1), nn.GroupNorm(2, o), nn.ReLU())
        self.down1, self.down2, self.middle = block(1, c), block(c, 2 * c), block(2 * c, 2 * c)
        self.up2 = nn.ConvTranspose2d(2 * c, 2 * c, 2, stride=2)
        self.dec2 = block(4 * c, c)
        self.up1 = nn.ConvTranspose2d(c, c, 2, stride=2)
        self.dec1 = block(2 * c, c)
        self.out = nn.Conv2d(c, 1, 1)

    def forward(self, x):
        a = self.down1(x)
        b = self.down2(F.max_pool2d(a, 2))
        m = self.middle(F.max_pool2d(b, 2))
        d = self.dec2(torch.cat([self.up2(m), b], 1))
        return self.out(self.dec1(torch.cat([self.up1(d), a], 1)))


def dice(logits, masks):
    p = logits.sigmoid()
    return 1 - 2 * (p * masks).sum() / (p.sum() + masks.sum() + 1)


loader = DataLoader(Shapes(200), batch_size=20, shuffle=True)
net = UNet()
optimizer = torch.optim.RMSprop(net.parameters(), lr=3e-4, momentum=0.5)
for epoch in range(4):
    for image, mask, weight in loader:
        logits = net(image)
        loss = F.binary_cross_entropy_with_logits(logits, mask, weight=weight) + dice(logits, mask)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print("epoch %d loss %.5f" % (epoch, loss.item()))
norm = sum(p.norm().item() ** 2 for p in net.parameters()) ** 0.5
print("FINAL norm %.6f loss %.6f" % (norm, loss.item()))

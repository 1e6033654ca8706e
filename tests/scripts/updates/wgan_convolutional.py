"""A Wasserstein GAN with transposed convolutions: five critic steps, weights clipped."""
import torch
import torch.nn as nn

torch.manual_seed(999)
nz, ngf = 16, 16


def weights_init(m):
    classname = m.__class__.__name__
    if classname.find("Conv") != -1:
        nn.init.normal_(m.weight.data, 0.0, 0.05)
    elif classname.find("BatchNorm") != -1:
        nn.init.normal_(m.weight.data, 1.0, 0.02)
        nn.init.constant_(m.bias.data, 0)


netG = nn.Sequential(
    nn.ConvTranspose2d(nz, ngf * 2, 4, 1, 0, bias=False), nn.BatchNorm2d(ngf * 2), nn.ReLU(True),
    nn.ConvTranspose2d(ngf * 2, ngf, 4, 2, 1, bias=False), nn.BatchNorm2d(ngf), nn.ReLU(True),
    nn.ConvTranspose2d(ngf, 1, 4, 2, 1, bias=False), nn.Tanh())
netD = nn.Sequential(
    nn.Conv2d(1, ngf, 4, 2, 1, bias=False), nn.LeakyReLU(0.2, inplace=True),
    nn.Conv2d(ngf, ngf * 2, 4, 2, 1, bias=False), nn.LeakyReLU(0.2, inplace=True),
    nn.Conv2d(ngf * 2, 1, 4, 1, 0, bias=False), nn.Flatten(0))
netG.apply(weights_init)
netD.apply(weights_init)
optG = torch.optim.RMSprop(netG.parameters(), lr=5e-5, eps=1e-4)
optD = torch.optim.RMSprop(netD.parameters(), lr=5e-5, eps=1e-4)
grid = torch.linspace(-1, 1, 16)
centre = torch.rand(256, 2) - 0.5
images = 2 * torch.exp(-8 * ((grid[None, :, None] - centre[:, :1, None]) ** 2
                             + (grid[None, None, :] - centre[:, 1:, None]) ** 2)) - 1
loader = torch.utils.data.DataLoader(images.unsqueeze(1), batch_size=32, shuffle=True)
fixed_noise = torch.randn(16, nz, 1, 1)
gen_iterations = 0
for epoch in range(5):
    for i, real in enumerate(loader):
        for p in netD.parameters():
            p.requires_grad = True
            p.data.clamp_(-0.1, 0.1)
        netD.zero_grad()
        noise = torch.randn(real.size(0), nz, 1, 1)
        with torch.no_grad():
            fake = netG(noise)
        errD = netD(fake).mean() - netD(real).mean()
        errD.backward()
        optD.step()
        if (i + 1) % 4 == 0:
            for p in netD.parameters():
                p.requires_grad = False
            netG.zero_grad()
            errG = -netD(netG(torch.randn(32, nz, 1, 1))).mean()
            errG.backward()
            optG.step()
            gen_iterations += 1
    netG.eval()
    with torch.no_grad():
        sample = netG(fixed_noise)
    netG.train()
    print(f"[{epoch}] Loss_D {errD.item():.5f} Loss_G {errG.item():.5f} mean {sample.mean():.5f}")
norm = sum(p.norm().item() ** 2 for n in (netG, netD) for p in n.parameters()) ** 0.5
print(f"FINAL generator {gen_iterations} norm {norm:.6f} loss {errD.item():.6f}")

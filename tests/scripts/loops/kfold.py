"""Cross-validation: a new model and a new optimizer for each of four folds."""
import torch
from torch import nn
from torch.utils.data import DataLoader, Subset, TensorDataset


def make_model():
    return nn.Sequential(nn.Linear(65, 300), nn.ReLU(), nn.Linear(300, 300), nn.ReLU(),
                         nn.Linear(300, 3))


def run_fold(dataset, train_index, test_index):
    model = make_model()
    optimizer = torch.optim.Adam(model.parameters(), lr=8e-4)
    loader = DataLoader(Subset(dataset, train_index), batch_size=64, shuffle=True)
    for epoch in range(3):
        for x, y in loader:
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
    model.eval()
    with torch.no_grad():
        x, y = dataset[test_index]
        out = model(x)
        accuracy = (out.argmax(1) == y).sum().item() / len(y)
        value = nn.functional.cross_entropy(out, y).item()
    norm = sum(p.norm().item() ** 2 for p in model.parameters()) ** 0.5
    return accuracy, value, norm


def main(folds=4):
    torch.manual_seed(179)
    x = torch.randn(600, 65)
    dataset = TensorDataset(x, (x[:, :12] @ torch.randn(12, 3)).argmax(1))
    parts = torch.randperm(600).chunk(folds)
    results = []
    for k in range(folds):
        train_index = torch.cat([p for j, p in enumerate(parts) if j != k])
        results.append(run_fold(dataset, train_index.tolist(), parts[k]))
        print("fold %d accuracy %.3f loss %.5f norm %.5f" % (k, *results[-1]))
    mean = [sum(r[i] for r in results) / folds for i in range(3)]
    print("FINAL accuracy %.4f loss %.6f norm %.6f" % tuple(mean))


if __name__ == "__main__":
    main()

"""What cannot be made elastic is refused with exit code 65 and a reason, never trained wrongly."""

import unittest

import scene
from test_takeover import HEAD

BODY = """
loader = LOADER
optimizer = OPTIMIZER
for i, (x, y) in enumerate(loader):
    optimizer.zero_grad()
    nn.functional.mse_loss(model(x), y).backward()
    STEP
"""
SGD = "torch.optim.SGD(model.parameters(), lr=0.1)"


def script(loader="DataLoader(data, batch_size=10)", optimizer=SGD, step="optimizer.step()"):
    text = BODY.replace("LOADER", loader).replace("OPTIMIZER", optimizer)
    return HEAD + text.replace("STEP", step)


class RefusalTest(scene.ScriptCase):
    def assert_refused(self, text, reason):
        done = self.run_taken_over(self.write(text))

        self.assertEqual(done.returncode, 65, done.stdout + done.stderr)
        self.assertIn(reason, done.stderr)

    def test_several_optimizers(self):
        self.assert_refused(
            script(step="optimizer.step(); other.step()",
                   optimizer=f"{SGD}\nother = {SGD}"), "several optimizers")

    def test_gradient_accumulation_from_the_first_batch(self):
        self.assert_refused(script(step="i % 2 and optimizer.step()"), "accumulation")

    def test_gradient_accumulation_later(self):
        self.assert_refused(script(step="i < 2 and optimizer.step()"), "accumulation")

    def test_two_steps_for_one_batch(self):
        self.assert_refused(script(step="i > 0 and optimizer.step(); optimizer.step()"), "twice")

    def test_other_samplers(self):
        sampler = "torch.utils.data.WeightedRandomSampler([1.0] * 50, 50)"
        self.assert_refused(
            script(loader=f"DataLoader(data, batch_size=10, sampler={sampler})"),
            "WeightedRandomSampler")

    def test_drawing_with_replacement(self):
        sampler = "torch.utils.data.RandomSampler(data, replacement=True)"
        self.assert_refused(
            script(loader=f"DataLoader(data, batch_size=10, sampler={sampler})"), "replacement")

    def test_batch_samplers(self):
        sampler = "type('Mine', (torch.utils.data.BatchSampler,), {})"
        sequence = "torch.utils.data.SequentialSampler(data)"
        self.assert_refused(
            script(loader=f"DataLoader(data, batch_sampler={sampler}({sequence}, 10, False))"),
            "batch_sampler")

    def test_iterable_datasets(self):
        self.assert_refused(script(loader="""DataLoader(type('Stream', (
            torch.utils.data.IterableDataset,), {'__iter__': lambda self: iter(data)})(),
            batch_size=10)"""), "IterableDataset")

    def test_closures(self):
        closure = "lambda: nn.functional.mse_loss(model(x), y)"
        self.assert_refused(
            script(optimizer="torch.optim.LBFGS(model.parameters())",
                   step=f"optimizer.step({closure})"), "LBFGS")

    def test_sparse_gradients(self):
        self.assert_refused(HEAD + """
model = nn.EmbeddingBag(50, 1, sparse=True, mode="sum")
data = TensorDataset(torch.arange(50).view(50, 1), torch.randn(50, 1))
""" + script().replace(HEAD, ""), "sparse")

    def test_own_process_groups(self):
        self.assert_refused(HEAD + """
torch.distributed.init_process_group("gloo", init_method="tcp://127.0.0.1:1", rank=0, world_size=1)
""", "torch.distributed")

    def test_parameters_that_change_after_the_first_step(self):
        grow = "optimizer.step(); i == 1 and optimizer.add_param_group({'params': extra})"
        self.assert_refused(
            script(optimizer=f"{SGD}; extra = [nn.Parameter(torch.zeros(1))]", step=grow),
            "parameters have changed")

    def test_batches_from_nowhere(self):
        self.assert_refused(HEAD + f"""
optimizer = {SGD}
nn.functional.mse_loss(model(inputs), data.tensors[1]).backward()
optimizer.step()
""", "DataLoader")

    def test_double_precision(self):
        self.assert_refused(script(step="optimizer.step()").replace(
            "loader = ", "model.double(); data.tensors = tuple(t.double() for t in data.tensors)\n"
            "loader = "), "float32")

    def test_epochs_that_are_left_early(self):
        self.assert_refused(HEAD + f"""
optimizer = {SGD}
loader = DataLoader(data, batch_size=10)
for epoch in range(3):
    for i, (x, y) in enumerate(loader):
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()
        if i == 2:
            break
""", "before the end of its epoch")

    def test_parameters_on_cuda(self):
        from rubato.session import unfit

        class OnDevice:
            is_cuda = True

        self.assertIn("NCCL", unfit([OnDevice()]))

    def test_a_conductor_hears_the_reason(self):
        report, _ = self.train(self.write(script(step="i % 2 and optimizer.step()")),
                               flags=["--workers", "2"], succeeds=False)

        self.assertEqual((report["outcome"], report["exit_code"]), ("refused", 65))
        self.assertIn("accumulation", report["reason"])


if __name__ == "__main__":
    unittest.main()

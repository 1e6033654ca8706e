"""Losses of a model's output, each used in another way. Run as split_cases.py is.

The name of a case says whether its loss can be computed on the parts (`shared_`) or must be
computed of the gathered output (`gathered_`).
"""

import sys

import torch
from torch import nn
from torch.nn import functional

from rubato.split.controller import CONTROLLER

CASES = {}
BATCH, LENGTH, CLASSES, STEPS = 12, 5, 7, 14


def case(function):
    CASES[function.__name__] = function
    return function


class Model(nn.Module):
    """Logits of every position; `shape` is applied to them at the end."""

    def __init__(self, shape=lambda logits: logits):
        super().__init__()
        torch.manual_seed(3)
        self.layers = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, CLASSES))
        self.shape = shape

    def forward(self, inputs):
        return self.shape(self.layers(inputs))


def train(loss_of, model=None, is_sequence_first=False, backward=None):
    """`loss_of(output, labels, values)`: labels are classes, values have the output's shape."""
    model = model or Model()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    generator = torch.Generator().manual_seed(5)
    seen = []
    for _ in range(STEPS):
        inputs = torch.randn(BATCH, LENGTH, 4, generator=generator)
        labels = torch.randint(0, CLASSES, (BATCH, LENGTH), generator=generator)
        if is_sequence_first:
            inputs, labels = inputs.transpose(0, 1).contiguous(), labels.t().contiguous()
        output = model(inputs)
        values = torch.rand(output.shape, generator=generator)
        optimizer.zero_grad()
        loss = loss_of(output, labels, values)
        seen.append(loss.item())
        (backward or torch.Tensor.backward)(loss)
        optimizer.step()
    return {"seen": torch.tensor(seen), **model.state_dict()}


# On the parts.


@case
def shared_logits_of_all_positions():
    return train(lambda output, labels, _: functional.cross_entropy(
        output.view(-1, CLASSES), labels.view(-1)))


@case
def shared_module_of_a_loss():
    criterion = nn.CrossEntropyLoss(ignore_index=2, label_smoothing=0.1,
                                    weight=torch.linspace(0.5, 1.5, CLASSES))
    return train(lambda output, labels, _: criterion(output.flatten(0, 1), labels.flatten()))


@case
def shared_classes_in_the_middle():
    return train(lambda output, labels, _: functional.cross_entropy(output.permute(0, 2, 1), labels,
                                                                    reduction="sum") / 50)


@case
def shared_transposed():
    return train(lambda output, labels, _: functional.cross_entropy(output.transpose(1, 2), labels))


@case
def shared_sequence_first():
    return train(lambda output, labels, _: functional.cross_entropy(
        output.view(-1, CLASSES), labels.reshape(-1)), is_sequence_first=True)


@case
def shared_shifted():
    def loss_of(output, labels, _):
        shifted = output[..., :-1, :].contiguous()
        return functional.cross_entropy(shifted.view(-1, CLASSES), labels[..., 1:].reshape(-1))

    return train(loss_of)


@case
def shared_last_position():
    return train(lambda output, labels, _: functional.cross_entropy(output[:, -1], labels[:, -1]))


@case
def shared_every_other_position():
    return train(lambda output, labels, _: functional.cross_entropy(
        output[:, ::2].transpose(1, 2), labels[:, ::2]))


@case
def shared_probabilities():
    return train(lambda output, _, values: functional.cross_entropy(
        output.view(-1, CLASSES), values.softmax(2).view(-1, CLASSES)))


@case
def shared_negative_log_likelihood():
    model = Model(lambda logits: logits.log_softmax(2))
    return train(lambda output, labels, _: functional.nll_loss(
        output.view(-1, CLASSES), labels.view(-1), ignore_index=1), model)


@case
def shared_squares():
    return train(lambda output, _, values: functional.mse_loss(output, values))


@case
def shared_absolute_values():
    return train(lambda output, _, values: functional.l1_loss(output, values)
                 + functional.smooth_l1_loss(output.view(-1), values.view(-1), beta=0.3))


@case
def shared_weights_of_all_values():
    return train(lambda output, _, values: functional.binary_cross_entropy_with_logits(
        output, values.round(), weight=1 + values, pos_weight=torch.linspace(0.5, 2, CLASSES)))


@case
def shared_weights_of_samples():
    return train(lambda output, _, values: functional.binary_cross_entropy_with_logits(
        output, values.round(), weight=1 + values[:, :1, :1]))


@case
def shared_weights_of_rows():
    return train(lambda output, _, values: functional.binary_cross_entropy_with_logits(
        output.flatten(0, 1), values.flatten(0, 1).round(), weight=1 + values.flatten(0, 1)[:, :1]))


@case
def shared_one_logit():
    model = Model(lambda logits: logits[:, 0, :1])
    return train(lambda output, _, values: functional.binary_cross_entropy_with_logits(
        output.squeeze(1), values.squeeze(1).round()), model)


@case
def shared_probability():
    model = Model(torch.sigmoid)
    return train(lambda output, _, values: functional.binary_cross_entropy(output, values), model)


@case
def shared_and_a_penalty():
    """The output has another gradient besides."""
    return train(lambda output, labels, _: functional.cross_entropy(
        output.view(-1, CLASSES), labels.view(-1)) + 0.01 * output.pow(2).mean())


@case
def shared_two_losses():
    return train(lambda output, labels, values: 3 * functional.cross_entropy(
        output.view(-1, CLASSES), labels.view(-1)) + functional.mse_loss(output, values))


@case
def shared_twice_backward():
    """The second time there is nothing left on the replicas."""

    def backward(loss):
        loss.backward(retain_graph=True)
        loss.backward()

    return train(lambda output, _, values: functional.mse_loss(output, values), backward=backward)


@case
def shared_one_after_the_other():
    losses = []

    def loss_of(output, labels, values):
        losses.append(functional.mse_loss(output, values))
        return functional.cross_entropy(output.view(-1, CLASSES), labels.view(-1))

    def backward(loss):
        losses[-1].backward(retain_graph=True)
        loss.backward()

    return train(loss_of, backward=backward)


@case
def shared_graph_of_gradients():
    model = Model()

    def backward(loss):
        found = torch.autograd.grad(loss, list(model.parameters()), create_graph=True)
        (loss + sum(gradient.pow(2).sum() for gradient in found)).backward()

    return train(lambda output, _, values: functional.mse_loss(output, values), model,
                 backward=backward)


@case
def shared_gradient_of_the_output():
    outputs, gradients = [], []

    def loss_of(output, labels, _):
        outputs.append(output)
        return functional.cross_entropy(output.view(-1, CLASSES), labels.view(-1))

    def backward(loss):
        gradients.append(torch.autograd.grad(loss, outputs[-1], retain_graph=True)[0].norm().item())
        loss.backward()

    return {**train(loss_of, backward=backward), "gradients": torch.tensor(gradients)}


@case
def shared_after_a_failed_backward():
    """What the failed one began must not be part of the next one."""

    class Fails(torch.autograd.Function):
        @staticmethod
        def forward(ctx, value):
            return value.clone()

        @staticmethod
        def backward(ctx, gradient):
            raise ValueError("as the script wants it")

    losses = []

    def loss_of(output, labels, values):
        losses.append(functional.mse_loss(output, values)
                      + Fails.apply(output.view(-1)[:1]).sum())
        return functional.cross_entropy(output.view(-1, CLASSES), labels.view(-1))

    def backward(loss):
        try:
            losses[-1].backward(retain_graph=True)
        except ValueError:
            pass
        loss.backward()

    return train(loss_of, backward=backward)


# Of the gathered output.


@case
def gathered_output_that_was_changed():
    def loss_of(output, labels, _):
        with torch.no_grad():
            output[:, 0] *= 2.0
        return functional.cross_entropy(output.view(-1, CLASSES), labels.view(-1))

    return train(loss_of)


@case
def gathered_data_that_was_changed():
    def loss_of(output, labels, _):
        output.data.clamp_(-0.2, 0.2)
        return functional.cross_entropy(output.view(-1, CLASSES), labels.view(-1))

    return train(loss_of)


@case
def gathered_data_of_a_view_that_was_changed():
    def loss_of(output, labels, _):
        flat = output.view(-1, CLASSES)
        flat.data = flat.data * 0.5
        return functional.cross_entropy(flat, labels.view(-1))

    return train(loss_of)


@case
def gathered_copy_that_was_changed():
    def loss_of(output, labels, _):
        copy = output.clone()
        with torch.no_grad():
            copy *= 2.0
        return functional.cross_entropy(copy.clone().view(-1, CLASSES), labels.view(-1))

    return train(loss_of)


@case
def gathered_after_a_failed_loss():
    def loss_of(output, labels, _):
        try:
            functional.cross_entropy(output.flatten(0, 1), labels.flatten() + 1)
        except IndexError:
            pass
        return functional.cross_entropy(output.flatten(0, 1), labels.flatten())

    return train(loss_of)


@case
def gathered_selected_samples():
    return train(lambda output, labels, _: functional.cross_entropy(
        output[2:9].reshape(-1, CLASSES), labels[2:9].reshape(-1)))


@case
def gathered_distance_of_two_outputs():
    model = Model()
    return train(lambda output, _, values: functional.mse_loss(output, model(values[..., :4])),
                 model)


@case
def gathered_each_sample():
    return train(lambda output, labels, _: functional.cross_entropy(
        output.view(-1, CLASSES), labels.view(-1), reduction="none").topk(9)[0].mean())


# Last: hooks end it for the process.


@case
def shared_until_there_is_a_hook():
    gradients, losses = [], []

    def loss_of(output, labels, _):
        flat = output.view(-1, CLASSES)
        loss = functional.cross_entropy(flat, labels.view(-1))
        losses.append(loss)
        if len(losses) > STEPS // 2:
            flat.register_hook(lambda gradient: gradients.append(gradient.norm().item()))
            output.retain_grad()
        return loss

    return {**train(loss_of), "gradients": torch.tensor(gradients)}


def main():
    torch.set_num_threads(1)
    torch.set_default_dtype(torch.float64)
    path, *names = sys.argv[1:]
    found = {}
    for name in names or CASES:
        before = CONTROLLER.losses_on_parts
        found[name] = {**CASES[name](), "on parts": CONTROLLER.losses_on_parts - before}
    torch.save(found, path)


if __name__ == "__main__":
    main()

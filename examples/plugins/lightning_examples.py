"""Runs every `lightning.py` beside the example plugins, and compares what it does with its formula.

`cargo xtask lightning` starts it with a Python that has Lightning.
"""

import importlib.util
import logging
import pathlib
import tempfile
import warnings

import lightning as L
import torch
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

HERE = pathlib.Path(__file__).parent
LR = 0.5


def example(name):
    spec = importlib.util.spec_from_file_location(f"example_{name}", HERE / name / "lightning.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def data(shape=(3,), rows=6):
    torch.manual_seed(1)
    return torch.randn(rows, *shape), torch.arange(rows) % 3


def model(shape=(3,)):
    torch.manual_seed(2)
    features = int(torch.tensor(shape).prod())
    return torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(features, 3))


class Classifier(L.LightningModule):
    """What a callback is used with."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def training_step(self, batch, batch_idx):
        x, y = batch
        return F.cross_entropy(self.model(x), y)

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=LR)


def with_sgd(kind):
    """A module of an example, with the optimizer that its user would choose."""
    sgd = lambda self: torch.optim.SGD(self.model.parameters(), lr=LR)
    return type(kind.__name__, (kind,), {"configure_optimizers": sgd})


def fit(module, steps, batch, callbacks=(), **options):
    x, y = batch
    loader = DataLoader(TensorDataset(x, y), batch_size=len(x))
    trainer = L.Trainer(
        accelerator="cpu", max_epochs=steps, callbacks=list(callbacks), logger=False, enable_checkpointing=False,
        enable_progress_bar=False, enable_model_summary=False, **options,
    )
    trainer.fit(module, loader, loader if "validation_step" in type(module).__mro__[1].__dict__ else None)
    return trainer


def near(found, wanted):
    torch.testing.assert_close(torch.as_tensor(found), torch.as_tensor(wanted), rtol=1e-4, atol=1e-5)


def gradients(model, loss):
    return torch.autograd.grad(loss, list(model.parameters()))


def stepped(model, batch, steps, gradient):
    """The weights after plain steps by a gradient of one's own."""
    x, y = batch
    for _ in range(steps):
        found = gradient(model, lambda: F.cross_entropy(model(x), y))
        with torch.no_grad():
            for p, g in zip(model.parameters(), found):
                p.sub_(LR * g)
    return list(model.parameters())


def activation_norms():
    batch, net = data(), model()
    module = Classifier(net)
    expected = net(batch[0]).detach().norm()
    trainer = fit(module, 1, batch, [example("activation_norms").ActivationNorms("1")])
    near(trainer.callback_metrics["norm/1"], expected)
    assert "norm/0" not in trainer.callback_metrics


def adversarial():
    batch = data()
    module = with_sgd(example("adversarial").AdversarialTraining)(model(), F.cross_entropy, epsilon=0.2)
    fit(module, 4, batch)
    wanted = model()
    for _ in range(4):
        x = batch[0].clone().requires_grad_()
        grad = torch.autograd.grad(F.cross_entropy(wanted(x), batch[1]), x)[0]
        moved = (batch[0] + 0.2 * grad.sign(), batch[1])
        stepped(wanted, moved, 1, lambda net, loss: gradients(net, loss()))
    near_all(module.model.parameters(), wanted.parameters())


def cutmix():
    seen = []

    class Spy(Classifier):
        def training_step(self, batch, batch_idx):
            seen.append(batch[1])
            return super().training_step(batch, batch_idx)

    fit(Spy(model((1, 8, 8))), 8, data((1, 8, 8), 12), [example("cutmix").CutMix(3)])
    labels = torch.cat(seen)
    near(labels.sum(1), torch.ones(len(labels)))
    assert ((labels > 0).sum(1) == 2).any(), "no label was mixed"


def distillation():
    batch = data()
    torch.manual_seed(5)
    teacher = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(3, 3))
    with tempfile.NamedTemporaryFile(suffix=".pt") as file:
        torch.save(teacher.state_dict(), file.name)
        kind = with_sgd(example("distillation").Distillation)
        fresh = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(3, 3))
        module = kind(model(), F.cross_entropy, fresh, file.name, temperature=3.0, alpha=1.0)
        fit(module, 3, batch)

    def towards(net, _):
        soft = lambda m: (m(batch[0]) / 3.0).softmax(1)
        distance = (soft(teacher).detach() * (soft(teacher).detach() / soft(net)).log()).sum(1).mean()
        return gradients(net, 9.0 * distance)

    near_all(module.model.parameters(), stepped(model(), batch, 3, towards))


def focal_loss():
    batch = data()
    for gamma in [0.0, 3.0]:
        module = with_sgd(example("focal_loss").FocalLoss)(model(), gamma)
        trainer = fit(module, 1, batch)
        p = module.model(batch[0]).softmax(1)[torch.arange(6), batch[1]].detach()
        near(trainer.callback_metrics["val_loss"], (-((1 - p) ** gamma) * p.log()).mean())


def gradient_centralization():
    batch, module = data(), Classifier(model())
    fit(module, 4, batch, [example("gradient_centralization").GradientCentralization()])
    centered = lambda net, loss: [g - g.mean(1, keepdim=True) if g.dim() > 1 else g for g in gradients(net, loss())]
    near_all(module.model.parameters(), stepped(model(), batch, 4, centered))


def lookahead():
    batch, module = data(), Classifier(model())
    callback = example("lookahead").Lookahead(k=3, alpha=0.25)
    fit(module, 6, batch, [callback])
    wanted, plain = model(), lambda net, loss: gradients(net, loss())
    for _ in range(2):
        slow = [p.detach().clone() for p in wanted.parameters()]
        with torch.no_grad():
            ends = [p.detach().clone() for p in stepped_copy(wanted, batch, plain)]
            for p, s, e in zip(wanted.parameters(), slow, ends):
                p.copy_(s.lerp(e, 0.25))
    near_all(module.model.parameters(), wanted.parameters())
    again = example("lookahead").Lookahead()
    again.load_state_dict(callback.state_dict())
    near_all(again.slow, wanted.parameters())


def stepped_copy(net, batch, gradient):
    other = model()
    other.load_state_dict(net.state_dict())
    with torch.enable_grad():
        return stepped(other, batch, 3, gradient)


def sam():
    batch = data()
    module = with_sgd(example("sam").Sam)(model(), F.cross_entropy, rho=0.7)
    fit(module, 4, batch)

    def worst(net, loss):
        first = gradients(net, loss())
        norm = torch.stack([g.norm() for g in first]).norm()
        with torch.no_grad():
            for p, g in zip(net.parameters(), first):
                p.add_(g, alpha=float(0.7 / norm))
        second = gradients(net, loss())
        with torch.no_grad():
            for p, g in zip(net.parameters(), first):
                p.sub_(g, alpha=float(0.7 / norm))
        return second

    near_all(module.model.parameters(), stepped(model(), batch, 4, worst))


def near_all(found, wanted):
    for a, b in zip(found, wanted, strict=True):
        near(a.detach(), b.detach())


def main():
    warnings.filterwarnings("ignore")
    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
    examples = sorted(folder.parent.name for folder in HERE.glob("*/lightning.py"))
    for name in examples:
        globals()[name]()
        print(f"{name}: ok")
    print(f"{len(examples)} examples with Lightning {L.__version__} and torch {torch.__version__}")


if __name__ == "__main__":
    main()

import lightning as L
import torch


class GradientCentralization(L.Callback):
    @torch.no_grad()
    def on_before_optimizer_step(self, trainer, module, optimizer):
        for p in module.parameters():
            if p.grad is not None and p.grad.dim() > 1:
                p.grad.sub_(p.grad.mean(dim=tuple(range(1, p.grad.dim())), keepdim=True))

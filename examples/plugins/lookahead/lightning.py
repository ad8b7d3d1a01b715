import lightning as L
import torch


class Lookahead(L.Callback):
    def __init__(self, k=5, alpha=0.5):
        self.k, self.alpha, self.slow = k, alpha, None

    def on_train_start(self, trainer, module):
        if self.slow is None:
            self.slow = [p.detach().clone() for p in module.parameters()]

    @torch.no_grad()
    def on_train_batch_end(self, trainer, module, outputs, batch, batch_idx):
        if trainer.global_step % self.k == 0:
            for slow, p in zip(self.slow, module.parameters()):
                slow.lerp_(p, self.alpha)
                p.copy_(slow)

    def state_dict(self):
        return {"slow": self.slow}

    def load_state_dict(self, state):
        self.slow = state["slow"]

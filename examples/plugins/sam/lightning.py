import lightning as L
import torch


class Sam(L.LightningModule):
    def __init__(self, model, loss, rho=0.05):
        super().__init__()
        self.model, self.loss, self.rho = model, loss, rho
        self.automatic_optimization = False

    def training_step(self, batch, batch_idx):
        x, y = batch
        optimizer = self.optimizers()
        optimizer.zero_grad()
        loss = self.loss(self.model(x), y)
        self.manual_backward(loss)
        with torch.no_grad():
            params = [p for p in self.parameters() if p.grad is not None]
            norm = torch.stack([p.grad.norm() for p in params]).norm()
            weights = [p.clone() for p in params]
            for p in params:
                p.add_(p.grad * (self.rho / (norm + 1e-12)))
        optimizer.zero_grad()
        self.manual_backward(self.loss(self.model(x), y))
        with torch.no_grad():
            for p, w in zip(params, weights):
                p.copy_(w)
        optimizer.step()
        return loss

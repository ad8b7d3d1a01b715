import lightning as L
import torch


class AdversarialTraining(L.LightningModule):
    def __init__(self, model, loss, epsilon=0.03):
        super().__init__()
        self.model, self.loss, self.epsilon = model, loss, epsilon

    def training_step(self, batch, batch_idx):
        x, y = batch
        x = x.clone().requires_grad_()
        grad = torch.autograd.grad(self.loss(self.model(x), y), x)[0]
        return self.loss(self.model(x.detach() + self.epsilon * grad.sign()), y)

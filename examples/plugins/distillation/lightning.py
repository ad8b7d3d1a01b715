import lightning as L
import torch
import torch.nn.functional as F


class Distillation(L.LightningModule):
    def __init__(self, model, loss, teacher, weights, temperature=2.0, alpha=0.5):
        super().__init__()
        self.model, self.loss, self.teacher = model, loss, teacher.eval()
        self.teacher.load_state_dict(torch.load(weights))
        self.teacher.requires_grad_(False)
        self.temperature, self.alpha = temperature, alpha

    def training_step(self, batch, batch_idx):
        x, y = batch
        output = self.model(x)
        student = F.log_softmax(output / self.temperature, 1)
        with torch.no_grad():
            teacher = F.log_softmax(self.teacher(x) / self.temperature, 1)
        distance = F.kl_div(student, teacher, reduction="batchmean", log_target=True)
        return torch.lerp(self.loss(output, y), distance * self.temperature**2, self.alpha)

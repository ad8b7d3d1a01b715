import lightning as L


class FocalLoss(L.LightningModule):
    def __init__(self, model, gamma=2.0):
        super().__init__()
        self.model, self.gamma = model, gamma

    def loss(self, batch):
        x, y = batch
        log_p = self.model(x).log_softmax(1).gather(1, y.unsqueeze(1))
        return -((1 - log_p.exp()) ** self.gamma * log_p).mean()

    def training_step(self, batch, batch_idx):
        return self.loss(batch)

    def validation_step(self, batch, batch_idx):
        self.log("val_loss", self.loss(batch))

import lightning as L
import torch
import torch.nn.functional as F


def span(side, share, at):
    half, middle = int(side * share) // 2, int(side * at)
    return max(middle - half, 0), min(middle + half, side)


class CutMix(L.Callback):
    def __init__(self, classes, alpha=1.0):
        self.classes = classes
        self.beta = torch.distributions.Beta(alpha, alpha)

    def on_train_batch_start(self, trainer, module, batch, batch_idx):
        x, y = batch
        rows, _, height, width = x.shape
        share = (1 - self.beta.sample()).sqrt()
        at_y, at_x = torch.rand(2)
        (y0, y1), (x0, x1) = span(height, share, at_y), span(width, share, at_x)
        others = torch.randperm(rows, device=x.device)
        mixed = x.clone()
        mixed[:, :, y0:y1, x0:x1] = x[others, :, y0:y1, x0:x1]
        kept = 1 - (y1 - y0) * (x1 - x0) / (height * width)
        label = F.one_hot(y, self.classes).float()
        # A callback cannot replace the batch; it can change the list that holds it.
        batch[0], batch[1] = mixed, label[others].lerp(label, kept)

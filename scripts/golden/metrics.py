"""Golden values of the built-in metrics. Made with scikit-learn 1.9.1, scipy 1.17.1, torch 2.13.0, torchmetrics 1.9.0.

    pip install scikit-learn==1.9.1 scipy==1.17.1 torch==2.13.0 torchmetrics==1.9.0 numpy
    python scripts/golden/metrics.py

writes host/src/metric_parity/golden.json: the batches of some passes, and per case the metric, its settings as a config writes
them, the pass and the value. A value that is not a number is null. The batches are of different sizes; one is empty, one has a single class.
Cases of curves have a list of points, x and y, for each class beside the value.
"""

import json
import math
import warnings
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from scipy import stats
from sklearn import metrics as sk
from torchmetrics.functional.text import bleu_score

OUT = Path(__file__).parents[2] / "host/src/metric_parity/golden.json"
warnings.filterwarnings("ignore")
rng = np.random.default_rng(7)
cases = []


def flat(array):
    array = np.asarray(array)
    # The shortest digits that mean the same 32 bits.
    short = lambda v: None if math.isnan(v) else float(str(v))
    data = array.reshape(-1).tolist() if array.dtype == np.int64 else [short(v) for v in f32(array).reshape(-1)]
    return {"shape": list(array.shape), "data": data}


def cut(output, label, sizes):
    """The batches of a pass, of these sizes; the rest is the last."""
    batches, start = [], 0
    for size in [*sizes, len(output) - sum(sizes)]:
        part = slice(start, start + size)
        batches.append({"output": flat(output[part]), "label": flat(label[part])})
        start += size
    return batches


def case(name, metric, output, label, value, sizes=(), **settings):
    value = float(value)
    cases.append({"case": name, "metric": metric, "settings": settings,
                  "batches": cut(output, label, list(sizes)), "value": None if math.isnan(value) else value})


def f32(array):
    return np.asarray(array, dtype=np.float32)


def softmax(scores):
    return torch.softmax(torch.tensor(scores, dtype=torch.float64), 1).numpy()


# Five classes; scores of one digit, so that many are equal, and a stretch of one class alone.
N, C, SIZES = 60, 5, (17, 0, 8)
scores = f32(rng.normal(size=(N, C)).round(1))
classes = rng.integers(0, C, size=N)
classes[17:25] = 2
scores[np.arange(N), classes] += f32(0.7)
scores = f32(scores.round(1))
said = scores.argmax(1)


def many(name, scores, classes, sizes):
    said = scores.argmax(1)
    logits = torch.tensor(scores, dtype=torch.float64)
    wanted = torch.tensor(classes)
    case(name, "Accuracy", scores, classes, sk.accuracy_score(classes, said), sizes)
    case(name, "ConfusionMatrix", scores, classes, sk.confusion_matrix(classes, said).trace() / len(classes), sizes)
    for average in ["macro", "micro", "weighted"]:
        for metric, f in [("Precision", sk.precision_score), ("Recall", sk.recall_score), ("F1", sk.f1_score)]:
            value = f(classes, said, average=average, zero_division=0)
            case(f"{name}, {average}", metric, scores, classes, value, sizes, average=average)
    entropy = F.cross_entropy(logits, wanted)
    case(name, "CategoricalCrossEntropy", scores, classes, entropy, sizes)
    case(name, "Perplexity", scores, classes, entropy.exp(), sizes)
    case(name, "BitsPerToken", scores, classes, entropy / math.log(2), sizes)
    places = (np.argsort(-scores, axis=1, kind="stable") == classes[:, None]).argmax(1) + 1
    case(name, "MeanRank", scores, classes, places.mean(), sizes)
    case(name, "MeanReciprocalRank", scores, classes, (1 / places).mean(), sizes)
    for k in [1, 3]:
        case(f"{name}, k = {k}", "RecallAtK", scores, classes, (places <= k).mean(), sizes, k=k)


many("five classes with ties", scores, classes, SIZES)
many("one class alone", scores[17:25], classes[17:25], ())
case("five classes with ties", "AUROC", scores, classes,
     sk.roc_auc_score(classes, softmax(scores), multi_class="ovr", average="macro"), SIZES)
case("five classes with ties", "AveragePrecision", scores, classes,
     sk.average_precision_score(classes, softmax(scores), average="macro"), SIZES)
ignored = classes.copy()
ignored[::7] = -100
kept = ignored != -100
case("some ignored", "Accuracy", scores, ignored, (said == ignored)[kept].mean(), SIZES)
case("some ignored", "CategoricalCrossEntropy", scores, ignored,
     F.cross_entropy(torch.tensor(scores, dtype=torch.float64), torch.tensor(ignored)), SIZES)

mixed = np.eye(C)[classes] * 0.7 + np.eye(C)[(classes + 1) % C] * 0.3
case("labels are shares of classes", "Accuracy", scores, f32(mixed), (said == classes).mean(), SIZES)
picture, places = scores.reshape(15, 2, 2, C), classes.reshape(15, 2, 2)
case("a class for each place of a picture", "F1", np.moveaxis(picture, 3, 1), places,
     sk.f1_score(classes, said, average="macro"), (4, 0))
case("a class for each token", "Accuracy", scores.reshape(15, 4, C), classes.reshape(15, 4), (said == classes).mean(), (4, 0))

# One score a sample, with ties.
score = f32(rng.normal(size=40).round(1))
truth = (score + rng.normal(size=40) > 0).astype(np.int64)
SIZES = (9, 0, 5)
for metric, f in [("Precision", sk.precision_score), ("Recall", sk.recall_score), ("F1", sk.f1_score)]:
    case("one score", metric, score, truth, f(truth, score > 0), SIZES, average="binary")
    case("one score, threshold", metric, score, truth, f(truth, score > 0.5, average="macro"), SIZES, threshold=0.5)
case("one score", "Accuracy", score[:, None], truth, sk.accuracy_score(truth, score > 0), SIZES)
case("one score", "AUROC", score, truth, sk.roc_auc_score(truth, score), SIZES)
case("one score", "AveragePrecision", score, truth, sk.average_precision_score(truth, score), SIZES)
pair = np.stack([f32(np.zeros(40)), score], 1)
case("two scores", "AUROC", pair, truth, sk.roc_auc_score(truth, score), SIZES)
case("two scores", "AveragePrecision", pair, truth, sk.average_precision_score(truth, score), SIZES)
ones = np.ones(6, dtype=np.int64)
case("class 1 alone", "AUROC", score[:6], ones, sk.roc_auc_score(ones, score[:6]))
case("class 1 alone", "AveragePrecision", score[:6], ones, sk.average_precision_score(ones, score[:6]))
case("class 0 alone", "AveragePrecision", score[:6], 1 - ones, sk.average_precision_score(1 - ones, score[:6]))
bits = truth.astype(np.float32)
logit = torch.tensor(score, dtype=torch.float64)
bit = torch.tensor(bits, dtype=torch.float64)
case("logits", "BinaryCrossEntropy", score, bits, F.binary_cross_entropy_with_logits(logit, bit), SIZES)
share = f32(torch.sigmoid(logit))
share[:2] = [0.0, 1.0]
case("probabilities", "BinaryCrossEntropy", share, bits,
     F.binary_cross_entropy(torch.tensor(share, dtype=torch.float64), bit), SIZES, logits=False)

# Numbers.
SIZES = (11, 0, 4)
wanted = f32(rng.normal(size=30).round(1) * 3 + 10)
found = f32(wanted + rng.normal(size=30).round(1))
wide, wide_wanted = f32(rng.normal(size=(30, 3))), f32(rng.normal(size=(30, 3)))
for name, x, y in [("one column with ties", found, wanted), ("three columns", wide, wide_wanted)]:
    case(name, "MSE", x, y, sk.mean_squared_error(y.astype(float), x.astype(float)), SIZES)
    case(name, "MAE", x, y, sk.mean_absolute_error(y.astype(float), x.astype(float)), SIZES)
    case(name, "RMSE", x, y, math.sqrt(sk.mean_squared_error(y.astype(float), x.astype(float))), SIZES)
    case(name, "R2", x, y, sk.r2_score(y.astype(float), x.astype(float)), SIZES)
    columns = [(x, y)] if x.ndim == 1 else list(zip(x.T, y.T))
    value = np.mean([stats.pearsonr(a.astype(float), b.astype(float))[0] for a, b in columns])
    case(name, "Pearson", x, y, value, SIZES)
case("one column with ties", "Spearman", found, wanted, stats.spearmanr(found, wanted)[0], SIZES)
case("an output of one column", "MSE", found[:, None], wanted, sk.mean_squared_error(wanted.astype(float), found.astype(float)), SIZES)
same = f32(np.full(5, 2.0))
case("labels that do not vary", "R2", found[:5], same, sk.r2_score(same, found[:5]))
case("labels that do not vary and are met", "R2", same, same, sk.r2_score(same, same))
case("labels that do not vary", "Pearson", found[:5], same, math.nan)
case("labels that do not vary", "Spearman", found[:5], same, math.nan)

# Distributions and counts.
logits = f32(rng.normal(size=(12, 4)))
shares = f32(softmax(rng.normal(size=(12, 4))))
shares[0] = [0.0, 0.5, 0.5, 0.0]
logs = torch.log_softmax(torch.tensor(logits, dtype=torch.float64), 1)
wants = torch.tensor(shares, dtype=torch.float64)
case("logits", "KLDivergence", logits, shares, F.kl_div(logs, wants, reduction="batchmean"), (5, 0))
logs32 = f32(logs)
case("log-probabilities", "KLDivergence", logs32, shares,
     F.kl_div(torch.tensor(logs32, dtype=torch.float64), wants, reduction="batchmean"), (5, 0), logits=False)
rate = f32(rng.normal(size=20))
counts = f32(rng.poisson(2.0, size=20))
case("logarithms", "Poisson", rate, counts,
     F.poisson_nll_loss(torch.tensor(rate, dtype=torch.float64), torch.tensor(counts, dtype=torch.float64)), (5, 0))
expected = f32(np.abs(rate))
expected[0] = 0.0
case("expected counts", "Poisson", expected, counts,
     F.poisson_nll_loss(torch.tensor(expected, dtype=torch.float64), torch.tensor(counts, dtype=torch.float64),
                        log_input=False), (5, 0), log_input=False)

# Texts of up to 12 tokens, 0 fills them up.
texts = rng.integers(1, 6, size=(8, 12))
for row, length in zip(texts, rng.integers(6, 13, size=8)):
    row[length:] = 0
outputs = np.where(rng.random(texts.shape) < 0.25, rng.integers(0, 6, size=texts.shape), texts)
words = lambda rows: [" ".join(str(token) for token in row if token) for row in rows]
for n in [2, 4]:
    value = bleu_score(words(outputs), [[text] for text in words(texts)], n_gram=n)
    # torchmetrics counts in 32 bits.
    case(f"tokens, n = {n}", "BLEU", f32(outputs), texts, value, (3, 0), max_n=n)
spread = f32(np.eye(6)[outputs])
case("scores of tokens", "BLEU", spread, texts, bleu_score(words(outputs), [[t] for t in words(texts)]), (3, 0))
case("nothing in common", "BLEU", f32(np.full((2, 6), 9)), texts[:2, :6], 0.0)

# What is not a number stays visible, and a pass without samples has no value.
broken = found.copy()
broken[3] = math.nan
for metric in ["MSE", "MAE", "RMSE", "R2", "Pearson", "Spearman", "BinaryCrossEntropy", "Poisson"]:
    case("a NaN among outputs", metric, broken, wanted, math.nan, SIZES)
    case("no sample", metric, found[:0], wanted[:0], math.nan)
broken = scores.copy()
broken[3, 1] = math.nan
for metric in ["AUROC", "AveragePrecision", "CategoricalCrossEntropy", "Perplexity", "BitsPerToken"]:
    case("a NaN among outputs", metric, broken, classes, math.nan, (17, 0))
for metric in ["Accuracy", "Precision", "Recall", "F1", "AUROC", "AveragePrecision", "ConfusionMatrix",
               "CategoricalCrossEntropy", "Perplexity", "BitsPerToken", "MeanRank", "MeanReciprocalRank", "RecallAtK"]:
    case("no sample", metric, scores[:0], classes[:0], math.nan)
# As `argmax` has it, a NaN is the largest.
case("a NaN among outputs", "Accuracy", broken, classes,
     (torch.tensor(broken).argmax(1).numpy() == classes).mean(), (17, 0))

# Twelve classes, for the first ten of them.
later = np.random.default_rng(8)
dozen = f32(later.normal(size=(50, 12)).round(1))
of_dozen = later.integers(0, 12, size=50)
order = np.argsort(-dozen, axis=1, kind="stable")
for k in [1, 5, 10]:
    value = (order[:, :k] == of_dozen[:, None]).any(1).mean()
    case("twelve classes", f"RecallAt{k}", dozen, of_dozen, value, (20, 0))
    case("no sample", f"RecallAt{k}", dozen[:0], of_dozen[:0], math.nan)


# Curves, whole, with the area under the one and the average precision of the other.
def roc(truth, score):
    x, y, _ = sk.roc_curve(truth, score, drop_intermediate=False)
    return [x.tolist(), y.tolist()]


def precision_recall(truth, score):
    precision, recall, _ = sk.precision_recall_curve(truth, score)
    # From the best score on.
    return [recall[::-1].tolist(), precision[::-1].tolist()]


def curves(name, output, label, per_class, auroc, precision, sizes=()):
    for metric, curve, value in [("ROC", roc, auroc), ("PrecisionRecallCurve", precision_recall, precision)]:
        case(name, metric, output, label, value, sizes)
        cases[-1]["curves"] = [curve(truth, score) for truth, score in per_class]


SIZES = (9, 0, 5)
area, mean = sk.roc_auc_score(truth, score), sk.average_precision_score(truth, score)
curves("one score", score, truth, [(truth, score)], area, mean, SIZES)
curves("two scores", pair, truth, [(truth, score)], area, mean, SIZES)
shares = softmax(scores)
curves("five classes with ties", scores, classes, [(classes == c, shares[:, c]) for c in range(C)],
       sk.roc_auc_score(classes, shares, multi_class="ovr", average="macro"),
       sk.average_precision_score(classes, shares, average="macro"), (17, 0, 8))
case("class 0 alone", "PrecisionRecallCurve", score[:6], 1 - ones, sk.average_precision_score(1 - ones, score[:6]))
case("class 1 alone", "ROC", score[:6], ones, math.nan)
for metric in ["ROC", "PrecisionRecallCurve"]:
    case("a NaN among outputs", metric, broken, classes, math.nan, (17, 0))
    case("no sample", metric, scores[:0], classes[:0], math.nan)

passes = []
for c in cases:
    batches = json.dumps(c.pop("batches"))
    if batches not in passes:
        passes.append(batches)
    c["pass"] = passes.index(batches)
rows = ",\n".join(json.dumps(c) for c in cases)
OUT.write_text('{"passes": [\n' + ",\n".join(passes) + '\n],\n"cases": [\n' + rows + "\n]}\n")
print(f"{len(cases)} cases in {OUT}")

//! The usual losses, each as the mean over the batch.

use super::elementwise::broadcast;
use super::reduce::{log_softmax, rows};
use super::shape::dim_of;
use super::{FakeValue, Implementation, OpArgs};
use crate::error::Result;
use crate::testing::tensor::FakeTensor;

/// The mean of a function of each pair of output and target.
fn mean(args: &OpArgs<'_>, function: impl Fn(f64, f64) -> f64) -> Result<Vec<FakeValue>> {
    let (output, target) = (args.tensor(0)?, args.tensor(1)?);
    let shape = broadcast(output.shape(), target.shape())?;
    let pairs =
        output.expanded(&shape)?.values().into_iter().zip(target.expanded(&shape)?.values());
    let losses: Vec<_> = pairs.map(|(x, y)| function(x, y)).collect();
    scalar(output, losses.iter().sum::<f64>() / count(losses.len()))
}

#[expect(clippy::cast_precision_loss, reason = "a test's batches are small")]
fn count(rows: usize) -> f64 {
    rows as f64
}

fn scalar(like: &FakeTensor, number: f64) -> Result<Vec<FakeValue>> {
    Ok(vec![FakeTensor::of(like.dtype(), &[number], &[])?.into()])
}

/// The mean of `-log p` of each row's class; the label -100 does not count.
fn negative_log_likelihood(logs: &FakeTensor, target: &FakeTensor) -> Result<Vec<FakeValue>> {
    let [.., classes] = logs.shape() else { crate::bail!("the output has no classes") };
    crate::ensure!(logs.shape().len() <= 2, "the fake trainer only takes rows of class scores");
    let classes = usize::try_from(*classes)?.max(1);
    let (logs_of, labels) = (logs.values(), target.values());
    let rows: Vec<_> = logs_of.chunks(classes).collect();
    if target.shape() == logs.shape() && target.dtype().code == 2 {
        let sums = logs_of.iter().zip(&labels).map(|(log, share)| -log * share);
        return scalar(logs, sums.sum::<f64>() / count(rows.len()));
    }
    crate::ensure!(rows.len() == labels.len(), "{} labels for {} rows", labels.len(), rows.len());
    let mut losses = Vec::new();
    for (row, label) in rows.into_iter().zip(labels) {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked here")]
        match label {
            -100.0 => {}
            label if label >= 0.0 && (label as usize) < classes => {
                losses.push(-row[label as usize]);
            }
            label => crate::bail!("label {label} is not one of {classes} classes"),
        }
    }
    scalar(logs, losses.iter().sum::<f64>() / count(losses.len()))
}

/// The cosine of the angle between the rows of two tensors of one shape along a dimension.
fn cosine_similarity(args: &OpArgs<'_>) -> Result<Vec<FakeValue>> {
    let (x, y) = (args.tensor(0)?, args.tensor(1)?);
    let (dim, eps) = (args.int_or(2, 1)?, args.number_or(3, 1e-8)?);
    crate::ensure!(x.shape() == y.shape(), "shapes {:?} and {:?} differ", x.shape(), y.shape());
    let dim = dim_of(dim, x.shape().len())?;
    let sums = |product: Vec<f64>| -> Result<FakeTensor> {
        let products = FakeTensor::of(x.dtype(), &product, x.shape())?;
        rows(&products, i64::try_from(dim)?, x.dtype(), |row| vec![row.iter().sum()])
    };
    let of = |a: &FakeTensor, b: &FakeTensor| {
        sums(a.values().into_iter().zip(b.values()).map(|(a, b)| a * b).collect())
    };
    let (dots, own, others) = (of(x, y)?, of(x, x)?.values(), of(y, y)?.values());
    let norms = own.iter().zip(&others).map(|(x, y)| x.sqrt().max(eps) * y.sqrt().max(eps));
    let cosines: Vec<_> = dots.values().iter().zip(norms).map(|(dot, norm)| dot / norm).collect();
    let mut shape = x.shape().to_vec();
    shape.remove(dim);
    Ok(vec![FakeTensor::of(x.dtype(), &cosines, &shape)?.into()])
}

pub(super) const OPS: &[(&str, Implementation)] = &[
    ("mse_loss", |a| mean(a, |x, y| (x - y) * (x - y))),
    ("l1_loss", |a| mean(a, |x, y| (x - y).abs())),
    ("smooth_l1_loss", |a| {
        let beta = a.number_or(3, 1.0)?;
        mean(a, |x, y| {
            let distance = (x - y).abs();
            if distance < beta { distance * distance / (2.0 * beta) } else { distance - beta / 2.0 }
        })
    }),
    ("cosine_similarity", cosine_similarity),
    ("binary_cross_entropy_with_logits", |a| {
        mean(a, |x, y| x.max(0.0) - x * y + (-x.abs()).exp().ln_1p())
    }),
    ("cross_entropy_loss", |a| {
        let output = a.tensor(0)?;
        let logs = rows(output, -1, output.dtype(), log_softmax)?;
        negative_log_likelihood(&logs, a.tensor(1)?)
    }),
    ("kl_div", |a| {
        let (output, target) = (a.tensor(0)?, a.tensor(1)?);
        crate::ensure!(
            a.int_or(2, 1)? == 2 && a.flag(3)?,
            "the fake trainer sums and takes logarithms"
        );
        let pairs = output.values().into_iter().zip(target.expanded(output.shape())?.values());
        scalar(output, pairs.map(|(x, y)| y.exp() * (y - x)).sum())
    }),
    ("nll_loss", |a| negative_log_likelihood(a.tensor(0)?, a.tensor(1)?)),
];

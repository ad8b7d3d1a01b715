//! Operators that see, pick or join numbers: most of them without a copy.

use super::elementwise::broadcast;
use super::{FakeValue, Implementation, OpArgs};
use crate::error::Result;
use crate::testing::tensor::{FakeTensor, INT64, count};

/// A dimension as an index; a negative one counts from the last.
pub(super) fn dim_of(dim: i64, rank: usize) -> Result<usize> {
    let dims = i64::try_from(rank)?.max(1);
    crate::ensure!(
        (-dims..dims).contains(&dim),
        "dimension {dim} is out of range for {rank} dimensions"
    );
    Ok(usize::try_from(if dim < 0 { dim + dims } else { dim })?)
}

#[expect(clippy::unnecessary_wraps, reason = "what every operator returns")]
fn one(tensor: FakeTensor) -> Result<Vec<FakeValue>> {
    Ok(vec![tensor.into()])
}

/// The dimensions in another order.
fn permuted(tensor: &FakeTensor, dims: &[usize]) -> FakeTensor {
    let shape = dims.iter().map(|dim| tensor.shape()[*dim]).collect();
    let strides = dims.iter().map(|dim| tensor.strides()[*dim]).collect();
    tensor.seen(shape, strides, tensor.offset())
}

/// A dimension moved to another place.
pub(super) fn moved(tensor: &FakeTensor, from: usize, to: usize) -> FakeTensor {
    let mut dims: Vec<_> = (0..tensor.shape().len()).collect();
    let dim = dims.remove(from);
    dims.insert(to, dim);
    permuted(tensor, &dims)
}

fn swapped(tensor: &FakeTensor, a: i64, b: i64) -> Result<FakeTensor> {
    let rank = tensor.shape().len();
    let mut dims: Vec<_> = (0..rank).collect();
    dims.swap(dim_of(a, rank)?, dim_of(b, rank)?);
    Ok(permuted(tensor, &dims))
}

/// The same numbers in another shape; a copy where they are not in order.
pub(super) fn reshaped(tensor: &FakeTensor, shape: &[i64]) -> Result<FakeTensor> {
    let known: i64 = shape.iter().filter(|size| **size != -1).product();
    let all = i64::try_from(count(tensor.shape()))?;
    let rest = if known == 0 { 0 } else { all / known };
    let shape: Vec<_> = shape.iter().map(|size| if *size == -1 { rest } else { *size }).collect();
    crate::ensure!(
        shape.iter().product::<i64>() == all,
        "shape {:?} cannot be viewed as {shape:?}",
        tensor.shape()
    );
    if !tensor.is_in_order() {
        return FakeTensor::of(tensor.dtype(), &tensor.values(), &shape);
    }
    let fresh = FakeTensor::of(tensor.dtype(), &vec![0.0; count(&shape)], &shape)?;
    Ok(tensor.seen(shape, fresh.strides().to_vec(), tensor.offset()))
}

fn flattened(args: &OpArgs<'_>) -> Result<Vec<FakeValue>> {
    let tensor = args.tensor(0)?;
    let rank = tensor.shape().len();
    let (from, to) = (dim_of(args.int_or(1, 0)?, rank)?, dim_of(args.int_or(2, -1)?, rank)?);
    if rank == 0 {
        return one(reshaped(tensor, &[1])?);
    }
    crate::ensure!(from <= to, "dimension {from} comes after {to}");
    let mut shape = tensor.shape().to_vec();
    let merged = shape[from..=to].iter().product();
    shape.splice(from..=to, [merged]);
    one(reshaped(tensor, &shape)?)
}

/// Places `start..end` of a dimension, each `step`-th.
pub(super) fn sliced(
    tensor: &FakeTensor,
    dim: i64,
    start: i64,
    end: i64,
    step: i64,
) -> Result<FakeTensor> {
    let dim = dim_of(dim, tensor.shape().len())?;
    let size = tensor.shape()[dim];
    let within = |place: i64| (if place < 0 { place + size } else { place }).clamp(0, size);
    crate::ensure!(step > 0, "a step of {step}");
    let (start, end) = (within(start), within(end));
    let (mut shape, mut strides) = (tensor.shape().to_vec(), tensor.strides().to_vec());
    shape[dim] = (end - start).max(0).unsigned_abs().div_ceil(step.unsigned_abs()).cast_signed();
    let offset = tensor.offset() + usize::try_from(start * strides[dim])?;
    strides[dim] *= step;
    Ok(tensor.seen(shape, strides, offset))
}

/// One place of a dimension, which is gone.
fn selected(tensor: &FakeTensor, dim: i64, index: i64) -> Result<FakeTensor> {
    let at = dim_of(dim, tensor.shape().len())?;
    let size = *tensor.shape().get(at).unwrap_or(&0);
    let place = if index < 0 { index + size } else { index };
    crate::ensure!(
        (0..size).contains(&place),
        "index {index} is out of range for a dimension of size {size}"
    );
    let part = sliced(tensor, dim, place, place + 1, 1)?;
    let (mut shape, mut strides) = (part.shape().to_vec(), part.strides().to_vec());
    shape.remove(at);
    strides.remove(at);
    Ok(part.seen(shape, strides, part.offset()))
}

fn without_ones(tensor: &FakeTensor, gone: impl Fn(usize) -> bool) -> FakeTensor {
    let dims = 0..tensor.shape().len();
    let kept: Vec<_> = dims.filter(|dim| tensor.shape()[*dim] != 1 || !gone(*dim)).collect();
    permuted(tensor, &kept)
}

fn unsqueezed(tensor: &FakeTensor, dim: i64) -> Result<FakeTensor> {
    let at = dim_of(dim, tensor.shape().len() + 1)?;
    let (mut shape, mut strides) = (tensor.shape().to_vec(), tensor.strides().to_vec());
    shape.insert(at, 1);
    strides.insert(at, 1);
    Ok(tensor.seen(shape, strides, tensor.offset()))
}

/// Tensors one after the other along a dimension that they have.
fn joined(tensors: &[FakeTensor], dim: i64) -> Result<FakeTensor> {
    let Some(first) = tensors.first() else { crate::bail!("no tensors to concatenate") };
    let at = dim_of(dim, first.shape().len())?;
    let mut rows = Vec::new();
    let mut shape = moved(first, at, 0).shape().to_vec();
    shape[0] = 0;
    for tensor in tensors {
        let fits = tensor.shape().len() == shape.len();
        let part = if fits { moved(tensor, at, 0) } else { tensor.clone() };
        crate::ensure!(
            fits && part.shape()[1..] == shape[1..],
            "shapes {:?} and {:?} cannot be concatenated along dimension {dim}",
            first.shape(),
            tensor.shape()
        );
        shape[0] += part.shape()[0];
        rows.extend(part.values());
    }
    Ok(moved(&FakeTensor::of(first.dtype(), &rows, &shape)?, 0, at).copy())
}

pub(super) fn places(index: &FakeTensor, size: i64) -> Result<Vec<i64>> {
    #[expect(clippy::cast_possible_truncation, reason = "an index is a whole number")]
    let places: Vec<_> = index.values().into_iter().map(|place| place as i64).collect();
    let beyond = places.iter().find(|place| !(0..size).contains(*place));
    match beyond {
        Some(place) => crate::bail!("index {place} is out of range for a dimension of size {size}"),
        None => Ok(places),
    }
}

fn index_selected(tensor: &FakeTensor, dim: i64, index: &FakeTensor) -> Result<FakeTensor> {
    let size = tensor.shape()[dim_of(dim, tensor.shape().len())?];
    let picked = places(index, size)?.into_iter().map(|at| sliced(tensor, dim, at, at + 1, 1));
    joined(&picked.collect::<Result<Vec<_>>>()?, dim)
}

/// Along a dimension, the number at the place that `index` says, for each place of `index`.
fn gathered(tensor: &FakeTensor, dim: i64, index: &FakeTensor) -> Result<FakeTensor> {
    let rank = tensor.shape().len();
    crate::ensure!(rank == index.shape().len(), "index and tensor differ in dimensions");
    let at = dim_of(dim, rank)?;
    let wanted = places(index, tensor.shape()[at])?;
    // Every place along the dimension sees the same row of the others.
    let (mut shape, mut strides) = (index.shape().to_vec(), tensor.strides().to_vec());
    strides[at] = 0;
    let origins = tensor.seen(std::mem::take(&mut shape), strides, tensor.offset()).offsets();
    let stride = tensor.strides()[at];
    let number = |(origin, place): (usize, i64)| -> Result<f64> {
        let at = origin + usize::try_from(place * stride)?;
        tensor.seen(Vec::new(), Vec::new(), at).item()
    };
    let numbers = origins.into_iter().zip(wanted).map(number).collect::<Result<Vec<_>>>()?;
    FakeTensor::of(tensor.dtype(), &numbers, index.shape())
}

/// The product of matrices, batches of them, and vectors.
fn matmul(left: &FakeTensor, right: &FakeTensor) -> Result<FakeTensor> {
    let (is_row, is_column) = (left.shape().len() == 1, right.shape().len() == 1);
    let left = if is_row { unsqueezed(left, 0)? } else { left.clone() };
    let right = if is_column { unsqueezed(right, 1)? } else { right.clone() };
    let ([batch @ .., rows, inner], [other_batch @ .., other_inner, columns]) =
        (left.shape(), right.shape())
    else {
        crate::bail!("matmul needs at least one dimension");
    };
    let shapes = (left.shape(), right.shape());
    crate::ensure!(
        inner == other_inner,
        "shapes {:?} and {:?} cannot be multiplied",
        shapes.0,
        shapes.1
    );
    let mut shape = broadcast(batch, other_batch)?;
    let numbers = {
        let left = left.expanded(&[&shape[..], &[*rows, *inner]].concat())?.values();
        let right = right.expanded(&[&shape[..], &[*inner, *columns]].concat())?.values();
        products(&left, &right, [*rows, *inner, *columns])
    };
    if !is_row {
        shape.push(*rows);
    }
    if !is_column {
        shape.push(*columns);
    }
    FakeTensor::of(left.dtype(), &numbers, &shape)
}

/// Products of matrices that follow each other.
fn products(left: &[f64], right: &[f64], sizes: [i64; 3]) -> Vec<f64> {
    let [rows, inner, columns] = sizes.map(|size| usize::try_from(size).unwrap_or(0));
    let pairs = left.chunks((rows * inner).max(1)).zip(right.chunks((inner * columns).max(1)));
    let mut numbers = Vec::new();
    for (left, right) in pairs {
        for (row, column) in (0..rows).flat_map(|row| (0..columns).map(move |it| (row, it))) {
            let terms = (0..inner).map(|at| left[row * inner + at] * right[at * columns + column]);
            numbers.push(terms.sum());
        }
    }
    numbers
}

fn chunks(tensor: &FakeTensor, size: i64, dim: i64) -> Result<Vec<FakeValue>> {
    let all = tensor.shape()[dim_of(dim, tensor.shape().len())?];
    crate::ensure!(size > 0, "parts of {size}");
    let starts = (0..all).step_by(usize::try_from(size)?);
    let parts = starts.map(|start| sliced(tensor, dim, start, start + size, 1).map(Some));
    Ok(vec![FakeValue::Tensors(parts.collect::<Result<_>>()?)])
}

fn one_hot(args: &OpArgs<'_>) -> Result<Vec<FakeValue>> {
    let (labels, classes) = (args.tensor(0)?, args.int_or(1, -1)?);
    let most = labels.values().into_iter().fold(-1.0, f64::max);
    #[expect(clippy::cast_possible_truncation, reason = "labels are whole numbers")]
    let classes = if classes < 0 { most as i64 + 1 } else { classes };
    let places = places(labels, classes)?;
    let row =
        |place: &i64| (0..classes).map(|class| f64::from(class == *place)).collect::<Vec<_>>();
    let numbers = places.iter().map(row).collect::<Vec<_>>().concat();
    one(FakeTensor::of(INT64, &numbers, &[labels.shape(), &[classes]].concat())?)
}

fn repeated(tensor: &FakeTensor, times: &[i64]) -> Result<FakeTensor> {
    let new = times.len().saturating_sub(tensor.shape().len());
    let mut result = reshaped(tensor, &[&vec![1; new][..], tensor.shape()].concat())?;
    for (dim, times) in times.iter().enumerate() {
        let parts = vec![result; usize::try_from(*times)?];
        result = joined(&parts, i64::try_from(dim)?)?;
    }
    Ok(result)
}

fn flipped(tensor: &FakeTensor, dims: &[i64]) -> Result<FakeTensor> {
    dims.iter().try_fold(tensor.clone(), |tensor, dim| {
        super::reduce::rows(&tensor, *dim, tensor.dtype(), |row| {
            row.iter().rev().copied().collect()
        })
    })
}

fn masked(tensor: &FakeTensor, mask: &FakeTensor) -> Result<FakeTensor> {
    let shape = broadcast(tensor.shape(), mask.shape())?;
    let (numbers, mask) = (tensor.expanded(&shape)?.values(), mask.expanded(&shape)?.values());
    let kept = numbers.into_iter().zip(mask).filter(|(_, holds)| *holds != 0.0);
    let kept: Vec<_> = kept.map(|(number, _)| number).collect();
    FakeTensor::of(tensor.dtype(), &kept, &[i64::try_from(kept.len())?])
}

fn stacked(args: &OpArgs<'_>) -> Result<Vec<FakeValue>> {
    let dim = args.int_or(1, 0)?;
    let parts = args.tensors(0)?.into_iter().map(|tensor| unsqueezed(tensor, dim));
    one(joined(&parts.collect::<Result<Vec<_>>>()?, dim)?)
}

pub(super) const OPS: &[(&str, Implementation)] = &[
    ("detach", |a| one(a.tensor(0)?.clone())),
    // It has no autograd.
    ("requires_grad", |a| one(a.tensor(0)?.clone())),
    ("contiguous", |a| {
        let tensor = a.tensor(0)?;
        one(if tensor.is_in_order() { tensor.clone() } else { tensor.copy() })
    }),
    ("transpose", |a| one(swapped(a.tensor(0)?, a.int(1)?, a.int(2)?)?)),
    ("t", |a| {
        one(if a.tensor(0)?.shape().len() < 2 {
            a.tensor(0)?.clone()
        } else {
            swapped(a.tensor(0)?, 0, 1)?
        })
    }),
    ("permute", |a| {
        let rank = a.tensor(0)?.shape().len();
        let dims = a.ints(1)?.iter().map(|dim| dim_of(*dim, rank)).collect::<Result<Vec<_>>>()?;
        one(permuted(a.tensor(0)?, &dims))
    }),
    ("movedim", |a| {
        let rank = a.tensor(0)?.shape().len();
        one(moved(a.tensor(0)?, dim_of(a.int(1)?, rank)?, dim_of(a.int(2)?, rank)?))
    }),
    ("reshape", |a| one(reshaped(a.tensor(0)?, a.ints(1)?)?)),
    ("view", |a| one(reshaped(a.tensor(0)?, a.ints(1)?)?)),
    ("flatten", flattened),
    ("unsqueeze", |a| one(unsqueezed(a.tensor(0)?, a.int(1)?)?)),
    ("squeeze.dim", |a| {
        let dim = dim_of(a.int(1)?, a.tensor(0)?.shape().len())?;
        one(without_ones(a.tensor(0)?, |at| at == dim))
    }),
    ("squeeze", |a| one(without_ones(a.tensor(0)?, |_| true))),
    ("expand", |a| one(a.tensor(0)?.expanded(a.ints(1)?)?)),
    ("expand_as", |a| one(a.tensor(0)?.expanded(a.tensor(1)?.shape())?)),
    ("repeat", |a| one(repeated(a.tensor(0)?, a.ints(1)?)?)),
    ("flip", |a| one(flipped(a.tensor(0)?, a.ints(1)?)?)),
    ("select", |a| one(selected(a.tensor(0)?, a.int(1)?, a.int(2)?)?)),
    ("narrow", |a| {
        let (dim, start, length) = (a.int(1)?, a.int(2)?, a.int(3)?);
        let part = sliced(a.tensor(0)?, dim, start, start + length, 1)?;
        let found = part.shape()[dim_of(dim, part.shape().len())?];
        crate::ensure!(found == length, "start {start} and length {length} are out of range");
        one(part)
    }),
    ("slice", |a| {
        let (start, end) = (a.int_or(2, 0)?, a.int_or(3, i64::MAX)?);
        one(sliced(a.tensor(0)?, a.int_or(1, 0)?, start, end, a.int_or(4, 1)?)?)
    }),
    ("index_select", |a| one(index_selected(a.tensor(0)?, a.int(1)?, a.tensor(2)?)?)),
    ("gather", |a| one(gathered(a.tensor(0)?, a.int(1)?, a.tensor(2)?)?)),
    ("masked_select", |a| one(masked(a.tensor(0)?, a.tensor(1)?)?)),
    ("one_hot", one_hot),
    ("cat", |a| {
        let parts: Vec<_> = a.tensors(0)?.into_iter().cloned().collect();
        one(joined(&parts, a.int_or(1, 0)?)?)
    }),
    ("stack", stacked),
    ("chunk", |a| {
        let (tensor, parts, dim) = (a.tensor(0)?, a.int(1)?, a.int_or(2, 0)?);
        let size = tensor.shape()[dim_of(dim, tensor.shape().len())?];
        chunks(
            tensor,
            size.unsigned_abs().div_ceil(parts.max(1).unsigned_abs()).max(1).cast_signed(),
            dim,
        )
    }),
    ("unbind", |a| {
        let (tensor, dim) = (a.tensor(0)?, a.int_or(1, 0)?);
        let size = tensor.shape()[dim_of(dim, tensor.shape().len())?];
        let parts = (0..size).map(|at| selected(tensor, dim, at).map(Some));
        Ok(vec![FakeValue::Tensors(parts.collect::<Result<_>>()?)])
    }),
    ("split", |a| chunks(a.tensor(0)?, a.int(1)?, a.int_or(2, 0)?)),
    ("matmul", |a| one(matmul(a.tensor(0)?, a.tensor(1)?)?)),
    ("mm", |a| one(matmul(a.tensor(0)?, a.tensor(1)?)?)),
];

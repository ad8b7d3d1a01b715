//! Operators that make one number of many, along dimensions or of all of them.

use super::elementwise::floats;
use super::shape::dim_of;
use super::{FakeValue, Implementation, OpArgs};
use crate::abi::DataType;
use crate::error::Result;
use crate::testing::tensor::{BOOL, FLOAT32, FakeTensor, INT64, count};

/// A function of the numbers along `dims` (of all where there are none) at each place of the others.
fn reduce(
    tensor: &FakeTensor,
    dims: &[i64],
    keepdim: bool,
    dtype: DataType,
    function: impl Fn(&[f64]) -> f64,
) -> Result<FakeTensor> {
    let rank = tensor.shape().len();
    let mut gone = vec![dims.is_empty(); rank];
    for dim in dims {
        gone[dim_of(*dim, rank)?] = true;
    }
    let pick = |gone_ones: bool| -> (Vec<i64>, Vec<i64>) {
        let dims = (0..rank).filter(|dim| gone[*dim] == gone_ones);
        dims.map(|dim| (tensor.shape()[dim], tensor.strides()[dim])).unzip()
    };
    let ((kept, kept_strides), (inner, inner_strides)) = (pick(false), pick(true));
    // The places of what is left, each seen as a tensor of what goes.
    let origins = tensor.seen(kept.clone(), kept_strides, tensor.offset()).offsets();
    let numbers: Vec<_> = origins
        .into_iter()
        .map(|origin| function(&tensor.seen(inner.clone(), inner_strides.clone(), origin).values()))
        .collect();
    let with_ones = (0..rank).map(|dim| if gone[dim] { 1 } else { tensor.shape()[dim] });
    let shape = if keepdim { with_ones.collect() } else { kept };
    FakeTensor::of(dtype, &numbers, &shape)
}

/// The dimensions in an argument: one, several, or none for all.
fn dims(args: &OpArgs<'_>, index: usize) -> Result<Vec<i64>> {
    Ok(match args.get(index) {
        FakeValue::Int(dim) => vec![*dim],
        FakeValue::Ints(dims) => dims.clone(),
        FakeValue::None => Vec::new(),
        _ => args.ints(index)?.to_vec(),
    })
}

/// `function(self, dims, keepdim)`.
fn along(
    args: &OpArgs<'_>,
    dtype: Option<DataType>,
    function: impl Fn(&[f64]) -> f64,
) -> Result<Vec<FakeValue>> {
    let tensor = args.tensor(0)?;
    let dtype = dtype.unwrap_or_else(|| tensor.dtype());
    Ok(vec![reduce(tensor, &dims(args, 1)?, args.flag(2)?, dtype, function)?.into()])
}

fn float_of(tensor: &FakeTensor) -> DataType {
    if tensor.dtype().code == 2 { tensor.dtype() } else { FLOAT32 }
}

fn whole_of(tensor: &FakeTensor) -> DataType {
    if tensor.dtype().code == 2 { tensor.dtype() } else { INT64 }
}

#[expect(clippy::cast_precision_loss, reason = "a test's tensors are small")]
fn mean(numbers: &[f64]) -> f64 {
    numbers.iter().sum::<f64>() / numbers.len() as f64
}

#[expect(clippy::cast_precision_loss, reason = "a test's tensors are small")]
fn variance(numbers: &[f64], correction: f64) -> f64 {
    let mean = mean(numbers);
    let squares: f64 = numbers.iter().map(|x| (x - mean) * (x - mean)).sum();
    squares / (numbers.len() as f64 - correction)
}

/// `function(self, dims, unbiased, keepdim)` of the variance.
fn spread(args: &OpArgs<'_>, function: impl Fn(f64) -> f64) -> Result<Vec<FakeValue>> {
    let (tensor, dims) = (args.tensor(0)?, dims(args, 1)?);
    let correction = if args.is_absent(2) || args.flag(2)? { 1.0 } else { 0.0 };
    let of = |row: &[f64]| function(variance(row, correction));
    Ok(vec![reduce(tensor, &dims, args.flag(3)?, tensor.dtype(), of)?.into()])
}

#[expect(clippy::cast_precision_loss, reason = "a test's tensors are small")]
fn norm(ord: f64) -> impl Fn(&[f64]) -> f64 {
    move |numbers| {
        let sizes = numbers.iter().map(|x| x.abs());
        if ord == f64::INFINITY {
            sizes.fold(0.0, f64::max)
        } else if ord == f64::NEG_INFINITY {
            sizes.fold(f64::INFINITY, f64::min)
        } else if ord == 0.0 {
            sizes.filter(|x| *x != 0.0).count() as f64
        } else {
            sizes.map(|x| x.powf(ord)).sum::<f64>().powf(ord.recip())
        }
    }
}

/// The place of the greatest number by an order in which NaN comes first; the first of equals.
fn best(numbers: &[f64], greatest: bool) -> usize {
    let better =
        |a: f64, b: f64| !b.is_nan() && (a.is_nan() || if greatest { a > b } else { a < b });
    let places = 1..numbers.len();
    places.fold(0, |best, at| if better(numbers[at], numbers[best]) { at } else { best })
}

#[expect(clippy::cast_precision_loss, reason = "a test's tensors are small")]
fn arg_best(args: &OpArgs<'_>, greatest: bool) -> Result<Vec<FakeValue>> {
    along(args, Some(INT64), |numbers| best(numbers, greatest) as f64)
}

fn extreme_of(numbers: &[f64], greatest: bool) -> f64 {
    numbers.get(best(numbers, greatest)).copied().unwrap_or(f64::NAN)
}

/// The greatest or least number, with its place where a dimension is given, or pair by pair.
fn extreme(args: &OpArgs<'_>, greatest: bool) -> Result<Vec<FakeValue>> {
    if let FakeValue::Tensor(_) = args.get(1) {
        crate::bail!("use maximum or minimum for pairs of numbers");
    }
    let is_empty = args.is_absent(1) && count(args.tensor(0)?.shape()) == 0;
    crate::ensure!(!is_empty, "max and min of an empty tensor are not defined");
    let values = along(args, None, |numbers| extreme_of(numbers, greatest))?;
    if args.is_absent(1) {
        return Ok(values);
    }
    Ok(values.into_iter().chain(arg_best(args, greatest)?).collect())
}

/// Rows along a dimension, each made into another row.
#[expect(clippy::cast_possible_wrap, reason = "a test's tensors are small")]
pub(super) fn rows(
    tensor: &FakeTensor,
    dim: i64,
    dtype: DataType,
    function: impl Fn(&[f64]) -> Vec<f64>,
) -> Result<FakeTensor> {
    let rank = tensor.shape().len();
    if rank == 0 {
        return FakeTensor::of(dtype, &function(&tensor.values()), &[]);
    }
    let dim = dim_of(dim, rank)?;
    let last = super::shape::moved(tensor, dim, rank - 1);
    let length = usize::try_from(tensor.shape()[dim]).unwrap_or(0);
    let made: Vec<_> = last.values().chunks(length.max(1)).map(function).collect();
    let mut shape = last.shape().to_vec();
    shape[rank - 1] = made.first().map_or(0, Vec::len) as i64;
    let made = FakeTensor::of(dtype, &made.concat(), &shape)?;
    Ok(super::shape::moved(&made, rank - 1, dim).copy())
}

fn softmax(numbers: &[f64]) -> Vec<f64> {
    let top = numbers.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let parts: Vec<_> = numbers.iter().map(|x| (x - top).exp()).collect();
    let sum: f64 = parts.iter().sum();
    parts.into_iter().map(|part| part / sum).collect()
}

pub(super) fn log_softmax(numbers: &[f64]) -> Vec<f64> {
    let top = numbers.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let sum: f64 = numbers.iter().map(|x| (x - top).exp()).sum();
    numbers.iter().map(|x| x - top - sum.ln()).collect()
}

/// Places in order of their numbers, equal ones as they stand, NaN as the greatest.
fn sorted(numbers: &[f64], descending: bool) -> Vec<usize> {
    let mut places: Vec<_> = (0..numbers.len()).collect();
    let order = |a: &usize, b: &usize| {
        let (a, b) = (numbers[*a], numbers[*b]);
        a.partial_cmp(&b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()))
    };
    places.sort_by(|a, b| if descending { order(b, a) } else { order(a, b) });
    places
}

/// The first `k` of the sorted numbers along a dimension, and their places.
#[expect(clippy::cast_precision_loss, reason = "a test's tensors are small")]
fn order(
    tensor: &FakeTensor,
    dim: i64,
    k: Option<i64>,
    descending: bool,
) -> Result<Vec<FakeValue>> {
    let k = k.map_or(usize::MAX, |k| usize::try_from(k).unwrap_or(0));
    let values =
        |row: &[f64]| sorted(row, descending).into_iter().take(k).map(|at| row[at]).collect();
    let places =
        |row: &[f64]| sorted(row, descending).into_iter().take(k).map(|at| at as f64).collect();
    Ok(vec![
        rows(tensor, dim, tensor.dtype(), values)?.into(),
        rows(tensor, dim, INT64, places)?.into(),
    ])
}

fn mapped_rows(
    args: &OpArgs<'_>,
    dtype: DataType,
    function: impl Fn(&[f64]) -> Vec<f64>,
) -> Result<Vec<FakeValue>> {
    Ok(vec![rows(args.tensor(0)?, args.int(1)?, dtype, function)?.into()])
}

pub(super) const OPS: &[(&str, Implementation)] = &[
    ("sum", |a| along(a, Some(whole_of(a.tensor(0)?)), |row| row.iter().sum())),
    ("prod", |a| along(a, Some(whole_of(a.tensor(0)?)), |row| row.iter().product())),
    ("mean", |a| {
        let dtype = a.tensor(0)?.dtype();
        crate::ensure!(dtype.code == 2, "mean needs floats, not {dtype}");
        along(a, None, mean)
    }),
    ("std", |a| along(a, None, |row| variance(row, 1.0).sqrt())),
    ("std.dim", |a| spread(a, f64::sqrt)),
    ("var", |a| along(a, None, |row| variance(row, 1.0))),
    ("var.dim", |a| spread(a, |variance| variance)),
    ("all", |a| along(a, Some(BOOL), |row| f64::from(row.iter().all(|x| *x != 0.0)))),
    ("any", |a| along(a, Some(BOOL), |row| f64::from(row.iter().any(|x| *x != 0.0)))),
    ("max", |a| extreme(a, true)),
    ("min", |a| extreme(a, false)),
    ("amax", |a| along(a, None, |row| extreme_of(row, true))),
    ("amin", |a| along(a, None, |row| extreme_of(row, false))),
    ("argmax", |a| arg_best(a, true)),
    ("argmin", |a| arg_best(a, false)),
    ("linalg_vector_norm", |a| {
        let tensor = a.tensor(0)?;
        let ord = norm(a.number_or(1, 2.0)?);
        Ok(vec![reduce(tensor, &dims(a, 2)?, a.flag(3)?, float_of(tensor), ord)?.into()])
    }),
    ("norm", |a| {
        let tensor = a.tensor(0)?;
        Ok(vec![reduce(tensor, &[], false, float_of(tensor), norm(a.number_or(1, 2.0)?))?.into()])
    }),
    ("dot", |a| {
        let ranks = [0, 1].map(|at| a.tensor(at).map_or(0, |tensor| tensor.shape().len()));
        crate::ensure!(ranks == [1, 1], "takes two 1-dim tensors, not of {ranks:?} dimensions");
        let (x, y) = (a.tensor(0)?.values(), a.tensor(1)?.values());
        crate::ensure!(x.len() == y.len(), "{} numbers against {}", x.len(), y.len());
        let sum: f64 = x.iter().zip(&y).map(|(x, y)| x * y).sum();
        Ok(vec![FakeTensor::of(a.tensor(0)?.dtype(), &[sum], &[])?.into()])
    }),
    ("cumsum", |a| {
        mapped_rows(a, whole_of(a.tensor(0)?), |row| {
            row.iter()
                .scan(0.0, |sum, x| {
                    *sum += x;
                    Some(*sum)
                })
                .collect()
        })
    }),
    ("softmax", |a| mapped_rows(a, float_of(a.tensor(0)?), softmax)),
    ("log_softmax", |a| mapped_rows(a, float_of(a.tensor(0)?), log_softmax)),
    ("logsumexp", |a| {
        along(a, Some(float_of(a.tensor(0)?)), |row| {
            let top = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            if top.is_infinite() && !row.iter().any(|x| x.is_nan()) {
                return top;
            }
            top + row.iter().map(|x| (x - top).exp()).sum::<f64>().ln()
        })
    }),
    ("topk", |a| {
        let (dim, largest) = (a.int_or(2, -1)?, a.is_absent(3) || a.flag(3)?);
        let (tensor, k) = (a.tensor(0)?, a.int(1)?);
        let sizes = tensor.shape();
        let size = if sizes.is_empty() { 1 } else { sizes[dim_of(dim, sizes.len())?] };
        crate::ensure!(
            (0..=size).contains(&k),
            "there are {size} numbers along the dimension, not {k}"
        );
        order(tensor, dim, Some(k), largest)
    }),
    ("sort", |a| order(a.tensor(0)?, a.int_or(1, -1)?, None, a.flag(2)?)),
    ("numel", |a| {
        let numbers = i64::try_from(count(a.tensor(0)?.shape())).unwrap_or(i64::MAX);
        Ok(vec![FakeValue::Int(numbers)])
    }),
    ("float", |a| Ok(vec![floats(a.tensor(0)?, |x| x).into()])),
];

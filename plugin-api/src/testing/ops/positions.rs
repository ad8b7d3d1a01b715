//! Operators that write to positions, find them, or move numbers to other ones.

use super::reduce::rows;
use super::shape::{dim_of, places, sliced};
use super::{FakeValue, Implementation, OpArgs};
use crate::error::Result;
use crate::testing::tensor::{FLOAT64, FakeTensor, INT64};

/// A copy in which a function of the old number and that of `source` is at the places of a dimension that `index` names, for each
/// place of `index`.
fn scattered(args: &OpArgs<'_>, function: impl Fn(f64, f64) -> f64) -> Result<Vec<FakeValue>> {
    let (tensor, index, source) = (args.tensor(0)?.copy(), args.tensor(2)?, args.tensor(3)?);
    let (rank, shape) = (tensor.shape().len(), index.shape());
    let fits = rank == shape.len() && rank == source.shape().len();
    crate::ensure!(fits, "index, source and tensor differ in dimensions");
    let at = dim_of(args.int(1)?, rank)?;
    let within = |dim: usize| {
        let is_source = shape[dim] <= source.shape()[dim];
        is_source && (dim == at || shape[dim] <= tensor.shape()[dim])
    };
    crate::ensure!((0..rank).all(within), "the index is larger than the tensor or the source");
    let wanted = places(index, tensor.shape()[at])?;
    let part = source.seen(shape.to_vec(), source.strides().to_vec(), source.offset());
    let mut strides = tensor.strides().to_vec();
    strides[at] = 0;
    let origins = tensor.seen(shape.to_vec(), strides, tensor.offset()).offsets();
    for ((origin, place), number) in origins.into_iter().zip(wanted).zip(part.values()) {
        let offset = origin + usize::try_from(place * tensor.strides()[at])?;
        let entry = tensor.seen(Vec::new(), Vec::new(), offset);
        let number = function(entry.item()?, number);
        entry.assign(&FakeTensor::of(FLOAT64, &[number], &[])?)?;
    }
    Ok(vec![tensor.into()])
}

/// A copy with the entries of `source` along a dimension added at the places that `index` names.
fn index_added(args: &OpArgs<'_>) -> Result<Vec<FakeValue>> {
    let (tensor, index, source) = (args.tensor(0)?.copy(), args.tensor(2)?, args.tensor(3)?);
    let (dim, alpha) = (args.int(1)?, args.number_or(4, 1.0)?);
    let at = dim_of(dim, tensor.shape().len())?;
    let wanted = places(index, tensor.shape()[at])?;
    let given = source.shape().get(at).copied().unwrap_or(0);
    crate::ensure!(
        given == i64::try_from(wanted.len())?,
        "{} positions for {given} entries",
        wanted.len()
    );
    for (entry, place) in (0_i64..).zip(wanted) {
        let (to, from) =
            (sliced(&tensor, dim, place, place + 1, 1)?, sliced(source, dim, entry, entry + 1, 1)?);
        let pairs = to.values().into_iter().zip(from.expanded(to.shape())?.values());
        let sums: Vec<_> = pairs.map(|(own, more)| own + alpha * more).collect();
        to.assign(&FakeTensor::of(FLOAT64, &sums, to.shape())?)?;
    }
    Ok(vec![tensor.into()])
}

/// The numbers of the last two dimensions whose column minus row `keeps`; 0 elsewhere.
fn triangle(args: &OpArgs<'_>, keeps: impl Fn(i64) -> bool) -> Result<Vec<FakeValue>> {
    let tensor = args.tensor(0)?;
    let [.., height, width] = *tensor.shape() else {
        crate::bail!("needs at least two dimensions, found shape {:?}", tensor.shape())
    };
    let cells = (0..height).flat_map(|row| (0..width).map(move |column| column - row)).cycle();
    let kept = tensor.values().into_iter().zip(cells);
    let kept: Vec<_> = kept.map(|(number, at)| if keeps(at) { number } else { 0.0 }).collect();
    Ok(vec![FakeTensor::of(tensor.dtype(), &kept, tensor.shape())?.into()])
}

fn rolled(args: &OpArgs<'_>) -> Result<Vec<FakeValue>> {
    let (shifts, dims) = (args.ints(1)?, args.ints(2)?);
    crate::ensure!(
        shifts.len() == dims.len(),
        "{} shifts of {} dimensions",
        shifts.len(),
        dims.len()
    );
    let all =
        shifts.iter().zip(dims).try_fold(args.tensor(0)?.clone(), |tensor, (shift, dim)| {
            rows(&tensor, *dim, tensor.dtype(), |row| {
                let mut row = row.to_vec();
                let length = i64::try_from(row.len()).unwrap_or(i64::MAX).max(1);
                row.rotate_right(usize::try_from(shift.rem_euclid(length)).unwrap_or(0));
                row
            })
        })?;
    Ok(vec![all.copy().into()])
}

/// The positions of the numbers that are not 0, one in each row.
#[expect(clippy::cast_precision_loss, reason = "a test's tensors are small")]
fn nonzero(args: &OpArgs<'_>) -> Result<Vec<FakeValue>> {
    let tensor = args.tensor(0)?;
    let mut found = Vec::new();
    for (number, at) in tensor.values().into_iter().zip(0_i64..) {
        if number == 0.0 {
            continue;
        }
        let (mut rest, mut position) = (at, Vec::new());
        for size in tensor.shape().iter().rev() {
            position.push((rest % size) as f64);
            rest /= size;
        }
        found.extend(position.into_iter().rev());
    }
    let rank = tensor.shape().len();
    let count = found.len().checked_div(rank).unwrap_or(0);
    let shape = [i64::try_from(count)?, i64::try_from(rank)?];
    Ok(vec![FakeTensor::of(INT64, &found, &shape)?.into()])
}

fn counted(args: &OpArgs<'_>) -> Result<Vec<FakeValue>> {
    let tensor = args.tensor(0)?;
    let is_whole = tensor.dtype().code != 2 && tensor.shape().len() == 1;
    crate::ensure!(is_whole, "counts integers of one dimension");
    let numbers = places(tensor, i64::MAX)?;
    let length = numbers.iter().max().map_or(0, |most| most + 1);
    let mut counts = vec![0.0; usize::try_from(length)?];
    for number in numbers {
        counts[usize::try_from(number)?] += 1.0;
    }
    Ok(vec![FakeTensor::of(INT64, &counts, &[length])?.into()])
}

pub(super) const OPS: &[(&str, Implementation)] = &[
    ("scatter", |a| scattered(a, |_, new| new)),
    ("scatter_add", |a| scattered(a, |old, new| old + new)),
    ("index_add", index_added),
    ("tril", |a| {
        let most = a.int_or(1, 0)?;
        triangle(a, |at| at <= most)
    }),
    ("triu", |a| {
        let least = a.int_or(1, 0)?;
        triangle(a, |at| at >= least)
    }),
    ("roll", rolled),
    ("nonzero", nonzero),
    ("bincount", counted),
];

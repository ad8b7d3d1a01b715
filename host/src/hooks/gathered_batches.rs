//! Gathers the tensors that ranks kept of their evaluation batches, in the order of the data.

use hookrack_plugin_api::prelude::*;
use hookrack_plugin_api::view::Element as _;

/// The maximum number of dimensions.
const MOST_SIDES: usize = 8;

/// One tensor for each batch of the pass. Ranks took batches in turn; every rank calls it with those of its own batches. Numbers are sent
/// as doubles, which hold them exactly.
pub(super) fn gathered(t: &Trainer, own: &TensorList) -> Result<TensorList> {
    let world = usize::try_from(t.world_size())?;
    let mut all = TensorList::default();
    // The main rank has the first batch, so it knows the dtype.
    let dtype = own.at(0).map(|first| first.dtype()).transpose()?;
    for round in 0..usize::try_from(t.inner_len())?.div_ceil(world) {
        let own = own.at(round);
        // The rows of each rank, and the other dimensions, which are equal.
        let mut sides = vec![0.0; world + MOST_SIDES];
        if let Some(own) = &own {
            let shape = own.shape()?;
            ensure!(shape.len() <= MOST_SIDES, "{} dimensions are too many", shape.len());
            for (index, side) in shape.iter().enumerate() {
                let place = if index == 0 { t.rank() as usize } else { world + index };
                sides[place] = f64::from(u32::try_from(*side)?);
            }
        }
        t.all_reduce_numbers(&mut sides, Reduction::Max)?;
        let sides: Vec<_> = sides.iter().map(|side| whole(*side)).collect();
        let (rows, others) = sides.split_at(world);
        let most = rows.iter().copied().max().unwrap_or(0);
        let shape: Vec<_> = [most].iter().chain(others).copied().filter(|side| *side > 0).collect();
        let padded = t.zeros(&shape)?.to_dtype(f64::DATA_TYPE)?;
        if let Some(own) = &own {
            padded.narrow(0, 0, own.size(0)?)?.copy_(own)?;
        }
        let stacked = t.all_gather(&padded)?;
        for (rank, rows) in rows.iter().enumerate().filter(|(_, rows)| **rows > 0) {
            let part = stacked.select(0, i64::try_from(rank)?)?.narrow(0, 0, *rows)?;
            all.push(dtype.map_or_else(|| part.keep(), |dtype| part.to_dtype(dtype))?)?;
        }
    }
    Ok(all)
}

#[expect(clippy::cast_possible_truncation, reason = "a side that was a whole number before")]
fn whole(side: f64) -> i64 {
    side as i64
}

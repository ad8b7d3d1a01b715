//! The time to start in the middle of an epoch of many samples.

use super::curve::Curve;
use crate::error::BenchError;
use crate::rounds::median;
use crate::subjects::job;
use hookrack::train::Parts;
use std::time::Instant;

/// Microseconds from the position of a resumed run to its first batch, with up to 10^9 samples.
pub(super) fn measure() -> Result<Curve, BenchError> {
    let mut points = Vec::new();
    for exponent in 4..=9 {
        let samples = 10_u64.pow(exponent);
        let size = format!("data.train.samples={samples}");
        let config = job(&[&size, "data.train.in_memory=false", "data.train.shape=[4]"])?.config;
        let mut loader = Parts::build(&config)?.loaders.train;
        let mut times = Vec::new();
        for epoch in 0..9 {
            let began = Instant::now();
            loader.begin(epoch, loader.batches() / 2);
            loader.next_batch()?;
            times.push(began.elapsed().as_secs_f64() * 1e6);
        }
        points.push((10_f64.powi(exponent.cast_signed()), median(&times)));
    }
    Ok(Curve {
        file: "samples",
        title: "Shuffle, start in the middle of an epoch, first batch",
        what: "samples",
        unit: "µs",
        series: vec![("batch of 64".to_owned(), points)],
        note: "The order of samples is a permutation that is computed, not stored: a resume skips nothing and lists nothing.".to_owned(),
    })
}

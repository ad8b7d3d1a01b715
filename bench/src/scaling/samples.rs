//! The time to start an epoch of many samples, at its beginning and in its middle.

use super::curve::Curve;
use crate::error::BenchError;
use crate::measured_hooks::job;
use crate::rounds::median;
use hookrack::engine::data::Loader;
use hookrack::train::Parts;
use std::time::Instant;

/// Microseconds from a position to its first batch, with up to 10^9 samples: that of a new run and that of a resumed one.
pub(super) fn measure() -> Result<Curve, BenchError> {
    let (mut starts, mut resumes) = (Vec::new(), Vec::new());
    for exponent in 4..=9 {
        let samples = 10_u64.pow(exponent);
        let size = format!("data.train.samples={samples}");
        let config = job(&[&size, "data.train.in_memory=false", "data.train.shape=[4]"])?.config;
        let mut loader = Parts::build(&config)?.loaders.train;
        let count = 10_f64.powi(exponent.cast_signed());
        let middle = loader.batches() / 2;
        starts.push((count, first_batch(&mut loader, 0)?));
        resumes.push((count, first_batch(&mut loader, middle)?));
    }
    Ok(Curve {
        file: "samples",
        title: "Shuffle an epoch, seek, first batch of 64",
        what: "samples",
        unit: "µs",
        series: vec![("start".to_owned(), starts), ("resume in the middle".to_owned(), resumes)],
        note: "The order of samples is computed, not stored: a resume neither skips samples nor builds a list of them.".to_owned(),
    })
}

/// The median over several epochs, each in an order of its own.
fn first_batch(loader: &mut Loader, position: u64) -> Result<f64, BenchError> {
    let mut times = Vec::new();
    for epoch in 0..9 {
        let began = Instant::now();
        loader.begin(epoch, position);
        loader.next_batch()?;
        times.push(began.elapsed().as_secs_f64() * 1e6);
    }
    Ok(median(&times))
}

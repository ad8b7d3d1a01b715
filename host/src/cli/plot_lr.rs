//! The learning rate of a config over its whole run, plotted as a self-contained SVG.

use super::exit::Failure;
use super::rank_plan::count;
use crate::engine::lr::Horizon;
use crate::engine::{Engine, EngineError};
use crate::job::Job;
use crate::run::atomic;
use crate::train::{Parts, iters_in_epoch};
use hookrack_chart::{Axis, Chart, Line, Scale};
use std::path::Path;

/// More points than pixels would be wasted.
const MOST_POINTS: u64 = 2000;

/// A curve per parameter group, with title and axes.
struct Plot {
    title: String,
    iters: u64,
    curves: Vec<Vec<(u64, f64)>>,
}

/// Builds what the config describes and plots the rate of each iteration, without training.
pub(super) fn plot(job: &Job, file: &Path) -> Result<(), Failure> {
    let config = &job.config;
    let Parts { loaders, mut engine, horizon, .. } = Parts::build(config)?;
    let Horizon { iters, epochs } = horizon;
    let in_epoch = iters_in_epoch(config, &loaders.train);
    let curves = curves(&mut engine, iters, in_epoch).map_err(Failure::usage)?;
    let name = &config.lr_scheduler.name;
    let title = format!("{name}: {}, {}", count(iters, "iteration"), count(epochs, "epoch"));
    let svg = Plot { title, iters, curves }.svg();
    Ok(atomic::write(file, svg.as_bytes())?)
}

fn curves(
    engine: &mut Engine,
    iters: u64,
    in_epoch: u64,
) -> Result<Vec<Vec<(u64, f64)>>, EngineError> {
    let mut curves = vec![Vec::new(); engine.group_count()];
    for iter in sampled(iters) {
        engine.set_lr_position(if engine.lr_by_epoch() { iter / in_epoch } else { iter });
        for (group, curve) in curves.iter_mut().enumerate() {
            curve.push((iter, engine.group(group)?.lr));
        }
    }
    Ok(curves)
}

/// The iterations to draw, the first and the last among them.
fn sampled(iters: u64) -> impl Iterator<Item = u64> {
    let last = iters.saturating_sub(1);
    let gaps = last.min(MOST_POINTS);
    (0..=gaps).map(move |index| {
        let iter = u128::from(last) * u128::from(index) / u128::from(gaps.max(1));
        u64::try_from(iter).unwrap_or(last)
    })
}

#[expect(clippy::cast_precision_loss, reason = "a picture")]
fn real(number: u64) -> f64 {
    number as f64
}

impl Plot {
    fn svg(&self) -> String {
        let highest = self.curves.iter().flatten().map(|(_, rate)| *rate).fold(0.0, f64::max);
        let (right, top) = (real(self.iters.max(2) - 1), if highest > 0.0 { highest } else { 1.0 });
        let line = |curve: &Vec<(u64, f64)>| Line {
            class: "curve",
            color: 0,
            points: curve.iter().map(|&(iter, rate)| (real(iter), rate)).collect(),
        };
        let chart = Chart {
            title: &self.title,
            x: Axis { name: "iteration", range: (0.0, right), scale: Scale::Whole },
            y: Axis { name: "learning rate", range: (0.0, top), scale: Scale::Linear },
            lines: self.curves.iter().map(line).collect(),
            marks: Vec::new(),
            diagonal: false,
        };
        chart.file()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_and_last_iteration_are_drawn_however_long_the_run_is() {
        for iters in [1, 2, 1999, 2001, 1_000_000_007] {
            let drawn: Vec<u64> = sampled(iters).collect();
            assert_eq!((drawn[0], drawn[drawn.len() - 1]), (0, iters - 1));
            assert!(drawn.len() as u64 <= MOST_POINTS + 1);
            assert!(drawn.windows(2).all(|pair| pair[0] < pair[1]), "{iters}");
        }
    }

    #[test]
    fn a_plot_is_an_svg_with_axes_and_every_curve_even_of_one_iteration_at_rate_0() {
        let curves = vec![vec![(0, 0.0)], vec![(0, 0.0)]];
        let svg = Plot { title: "ConstantLR".to_owned(), iters: 1, curves }.svg();
        assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
        assert_eq!(svg.matches("<circle").count(), 2, "an iteration alone is a dot");
        for part in ["ConstantLR", "learning rate", "iteration", "prefers-color-scheme:dark"] {
            assert!(svg.contains(part), "{part}");
        }
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
    }
}

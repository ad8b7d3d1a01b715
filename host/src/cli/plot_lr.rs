//! The learning rate of a config over its whole run, drawn as an SVG that needs nothing else.

use super::exit::Failure;
use crate::engine::lr::Horizon;
use crate::engine::{Engine, EngineError};
use crate::job::Job;
use crate::report::{label, ticks};
use crate::run::atomic;
use crate::train::{Parts, iters_in_epoch};
use std::fmt::Write as _;
use std::path::Path;

const WIDTH: f64 = 800.0;
const HEIGHT: f64 = 420.0;
const LEFT: f64 = 80.0;
const RIGHT: f64 = 24.0;
const TOP: f64 = 48.0;
const BOTTOM: f64 = 56.0;

/// More points than pixels are of no use.
const MOST_POINTS: u64 = 2000;

/// Dark ink on white, or the other way round where the reader prefers it.
const STYLE: &str = "\
text{font:13px system-ui,sans-serif;fill:#24292f}.title{font-size:16px;font-weight:600}\
.paper{fill:#fff}.grid{stroke:#d0d7de}.axis{stroke:#57606a}\
.curve{fill:none;stroke:#0969da;stroke-width:2;stroke-linejoin:round}\
@media(prefers-color-scheme:dark){text{fill:#e6edf3}.paper{fill:#0d1117}.grid{stroke:#30363d}\
.axis{stroke:#8b949e}.curve{stroke:#58a6ff}}";

/// A curve for each parameter group, with the words around it.
struct Plot {
    title: String,
    iters: u64,
    curves: Vec<Vec<(u64, f64)>>,
}

/// Builds what the config describes, trains nothing, and draws the rate that each iteration would have.
pub(super) fn plot(job: &Job, file: &Path) -> Result<(), Failure> {
    let config = &job.config;
    let Parts { loaders, mut engine, horizon } = Parts::build(config)?;
    let Horizon { iters, epochs } = horizon;
    let in_epoch = iters_in_epoch(config, &loaders.train);
    let curves = curves(&mut engine, iters, in_epoch).map_err(Failure::usage)?;
    let name = &config.lr_scheduler.type_name;
    let title = format!("{name}: {}, {}", count(iters, "iteration"), count(epochs, "epoch"));
    let svg = Plot { title, iters, curves }.svg();
    Ok(atomic::write(file, svg.as_bytes())?)
}

fn count(number: u64, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
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
        let x = |iter: f64| LEFT + iter / right * (WIDTH - LEFT - RIGHT);
        let y = |rate: f64| HEIGHT - BOTTOM - rate / top * (HEIGHT - TOP - BOTTOM);
        let mut out = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\">\n\
             <title>{0}</title>\n<style>{STYLE}</style>\n\
             <rect class=\"paper\" width=\"{WIDTH}\" height=\"{HEIGHT}\"/>\n\
             <text class=\"title\" x=\"{LEFT}\" y=\"28\">{0}</text>\n",
            self.title
        );
        vertical_axis(&mut out, top, y);
        horizontal_axis(&mut out, right, x);
        for curve in &self.curves {
            let points: Vec<String> = curve
                .iter()
                .map(|&(iter, rate)| format!("{:.2},{:.2}", x(real(iter)), y(rate)))
                .collect();
            _ = writeln!(out, "<polyline class=\"curve\" points=\"{}\"/>", points.join(" "));
        }
        out.push_str("</svg>\n");
        out
    }
}

fn vertical_axis(out: &mut String, top: f64, y: impl Fn(f64) -> f64) {
    for tick in ticks(0.0, top, false) {
        let (at, end, beside) = (y(tick), WIDTH - RIGHT, LEFT - 8.0);
        _ = writeln!(
            out,
            "<line class=\"grid\" x1=\"{LEFT}\" x2=\"{end}\" y1=\"{at:.2}\" y2=\"{at:.2}\"/>\
             <text x=\"{beside}\" y=\"{:.2}\" text-anchor=\"end\">{}</text>",
            at + 4.0,
            label(tick)
        );
    }
    let middle = f64::midpoint(TOP, HEIGHT - BOTTOM);
    _ = writeln!(
        out,
        "<text x=\"18\" y=\"{middle}\" text-anchor=\"middle\" transform=\"rotate(-90 18 {middle})\">learning rate</text>"
    );
}

fn horizontal_axis(out: &mut String, right: f64, x: impl Fn(f64) -> f64) {
    let (floor, end) = (HEIGHT - BOTTOM, WIDTH - RIGHT);
    for tick in ticks(0.0, right, true) {
        let at = x(tick);
        _ = writeln!(
            out,
            "<line class=\"axis\" x1=\"{at:.2}\" x2=\"{at:.2}\" y1=\"{floor}\" y2=\"{}\"/>\
             <text x=\"{at:.2}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
            floor + 5.0,
            floor + 20.0,
            label(tick)
        );
    }
    _ = writeln!(
        out,
        "<path class=\"axis\" fill=\"none\" d=\"M{LEFT} {TOP}V{floor}H{end}\"/>\
         <text x=\"{}\" y=\"{}\" text-anchor=\"middle\">iteration</text>",
        f64::midpoint(LEFT, end),
        HEIGHT - 12.0
    );
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
        assert_eq!(svg.matches("<polyline").count(), 2);
        for part in ["ConstantLR", "learning rate", "iteration", "prefers-color-scheme:dark"] {
            assert!(svg.contains(part), "{part}");
        }
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
    }
}

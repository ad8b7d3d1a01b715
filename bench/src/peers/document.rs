//! `docs/benchmarks.md` and its chart.

use super::framework::Framework;
use super::results::{Figure, Missing, Quartiles, Results, Trained};
use super::targets::Verdict;
use super::tensors::Tensors;
use crate::error::BenchError;
use hookrack_chart::{Bars, Measurement};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

const CHART: &str = "img/benchmarks.svg";

/// Writes both into a folder.
pub(super) fn write(
    folder: &Path,
    results: &Results,
    tensors: &Tensors,
    judged: &[Verdict],
    data: &str,
) -> Result<(), BenchError> {
    let images = folder.join("img");
    fs::create_dir_all(&images).map_err(BenchError::file(&images))?;
    let page = page(results, tensors, judged, data);
    for (name, text) in [("benchmarks.md", page), (CHART, chart(results))] {
        let path = folder.join(name);
        fs::write(&path, text).map_err(BenchError::file(&path))?;
    }
    Ok(())
}

fn page(results: &Results, tensors: &Tensors, judged: &[Verdict], data: &str) -> String {
    let mut out = format!(
        "# Benchmarks\n\n<!-- Written by `cargo xtask bench --peers`: do not edit, run it again. -->\n\n\
         hookrack compared with a hand-written tch loop, bare PyTorch, Ignite, the HF Trainer, Lightning, MMEngine and JAX, which train the same models on the same\n\
         batches with the same optimizer, one thread, the loss logged every 20 steps, and no checkpoints. How costs grow with hooks, plugins,\n\
         parameters, iterations and samples is in [scaling.md](scaling.md).\n\n\
         ![Steps per second of each framework, a group of bars for each model]({CHART})\n\n\
         {}\n",
        setting(results, tensors, data)
    );
    out += "## Targets\n\nMedians of the ratios within a round, with their quartiles.\n\n\
            | | ratio | quartiles | target | |\n|---|---|---|---|---|\n";
    for it in judged {
        _ = writeln!(
            out,
            "| {} | {} | {} | at least {} | {} |",
            it.name,
            ratio(it.ratio.median),
            spread(it.ratio, ratio),
            it.least,
            it.verdict()
        );
    }
    out += "\n## Steps per second\n\nThe ratio is hookrack's speed divided by that of the row. *First step* is the time from the start of the \
            process to the end of its first\nstep; for hookrack, a complete run of one step. *Peak* is the largest resident memory.\n";
    for trained in &results.trained {
        out += &table(trained);
    }
    out += &of_tensors(tensors);
    out += &of_missing(&results.missing);
    out + HOW
}

/// The machine and the versions.
fn setting(results: &Results, tensors: &Tensors, data: &str) -> String {
    let versions = results.versions();
    let versions: Vec<_> = versions
        .iter()
        .filter(|(name, _)| **name != "torch")
        .map(|(name, version)| format!("{name} {version}"))
        .chain([format!("torch {} (hookrack: libtorch of the same version)", tensors.torch)])
        .collect();
    format!(
        "- {}\n- {}\n- images from `{data}`, text from this documentation\n- {} rounds in random order\n",
        cpu(&fs::read_to_string("/proc/cpuinfo").unwrap_or_default()),
        versions.join(", "),
        results.rounds
    )
}

/// The name of the processor, and how many there are.
fn cpu(cpuinfo: &str) -> String {
    let names = cpuinfo.lines().filter_map(|line| {
        let (key, name) = line.split_once(':')?;
        (key.trim() == "model name").then(|| name.trim())
    });
    let names: Vec<_> = names.collect();
    match names.first() {
        Some(name) => format!("{} processors of {name}", names.len()),
        None => "an unknown processor".to_owned(),
    }
}

fn table(trained: &Trained) -> String {
    let model = trained.model;
    let mut out = format!(
        "\n### `{}`: {}\n\n{} steps in each round are counted.\n\n\
         | | steps/s | quartiles | hookrack / row | quartiles | first step | peak | last loss |\n|---|---|---|---|---|---|---|---|\n",
        model.name,
        model.about,
        model.steps()
    );
    for &framework in trained.by.keys() {
        let speed = trained.figure(framework, Figure::Speed);
        let advantage = trained.advantage(framework, Figure::Speed);
        let advantage = advantage.filter(|_| framework != Framework::Hookrack);
        _ = writeln!(
            out,
            "| {} | {} | {} | {} | {} | {:.2} s | {:.0} MiB | {:.3} |",
            framework.name(),
            number(speed.median),
            spread(speed, number),
            advantage.map(|it| ratio(it.median)).unwrap_or_default(),
            advantage.map(|it| spread(it, ratio)).unwrap_or_default(),
            trained.figure(framework, Figure::FirstStep).median,
            trained.figure(framework, Figure::Peak).median,
            trained.loss(framework),
        );
    }
    out
}

fn of_tensors(tensors: &Tensors) -> String {
    if tensors.lines.is_empty() {
        return "\n## Optimizer and average\n\nNot measured.\n".to_owned();
    }
    let mut out = "\n## Optimizer and average\n\nOver the 25.6 million parameters of ResNet-50: a step of AdamW, and an update of an \
                   average by the plugin `ema`. An average reads two\nnumbers and writes one per parameter: `lerp_` of one flat \
                   tensor of the same size moves the same bytes.\n\n\
                   | | hookrack | PyTorch | | PyTorch / hookrack | quartiles |\n|---|---|---|---|---|---|\n"
        .to_owned();
    for line in &tensors.lines {
        _ = writeln!(
            out,
            "| {} | {:.2} ms | {:.2} ms | {} | {} | {} |",
            line.name,
            line.ours.median,
            line.theirs.median,
            line.other,
            ratio(line.ratio.median),
            spread(line.ratio, ratio)
        );
    }
    out
}

fn of_missing(missing: &[Missing]) -> String {
    if missing.is_empty() {
        return String::new();
    }
    let mut out = "\n## Missing\n\nThese could not be measured.\n\n".to_owned();
    for Missing { framework, model, why } in missing {
        _ = writeln!(out, "- {}, `{}`: {}", framework.name(), model.name, why.replace('`', "'"));
    }
    out
}

/// How it was measured, the same in every run.
const HOW: &str = "
## How this is measured

    cargo xtask bench --peers                            # all models, 5 rounds
    cargo xtask bench --peers --models mlp,gpt --rounds 3

- Every training is a process of its own. In each round all of them train every model, in random order; ratios are taken within a
  round, because a machine is faster at some times than at others.
- hookrack is the release binary, `hookrack train --quiet` with the configs of `bench/peers/`: all default hooks except checkpoints,
  and `metrics.json`. They set the options that only affect speed, `memory_format` and `kernels` of `[train]`; *hookrack, defaults* does not,
  and uses the same kernels and layout as PyTorch. Whole epochs except the first are counted, by `train/epoch_time`, which includes every hook of every iteration.
- *tch, by hand* (`bench/src/peers/by_tch.rs`) is what a Rust user would write with tch alone: its layers, its optimizers, data in memory as
  floats, libtorch's defaults. It keeps no average, and does not count as a peer in *the fastest peer*.
- The peers are in `scripts/bench/peers/`, one file each, with the API that their guides recommend. They count the steps after a
  warm-up, within one epoch. Their batches are slices of the data in memory: no sample is collated. All except plain
  PyTorch use the fused optimizer; progress bars, summaries and checkpoints are off.
- All of them keep images in memory as bytes and scale them to 0..1 in each step. Nothing is shuffled, so that all see the same batches.
- The average is PyTorch's `AveragedModel` (also in the HF Trainer, which has none), Ignite's `EMAHandler`, Lightning's
  `EMAWeightAveraging`, MMEngine's `EMAHook`, and `optax.incremental_update` in JAX's jitted step.
- All compute on one thread. JAX dispatches steps asynchronously, its default.
- The HF Trainer also computes the norm of the gradients in every step; no setting turns that off.
- The last loss shows that all of them learn. The PyTorch peers share a seed and initial weights; hookrack and JAX draw
  their own, and hookrack's warm-up is a whole epoch, so that it has trained for more steps.
";

fn chart(results: &Results) -> String {
    let groups = results.trained.iter().map(|trained| {
        let bars = trained.by.keys().map(|&framework| {
            let Quartiles { low, median, high } = trained.figure(framework, Figure::Speed);
            let label = format!("{} steps/s", number(median));
            Measurement {
                name: framework.name().to_owned(),
                value: median,
                spread: (low, high),
                label,
            }
        });
        (trained.model.about.to_owned(), bars.collect())
    });
    let title = "Steps per second, 1 thread: median of the rounds, with quartiles";
    Bars { title, groups: groups.collect() }.file()
}

fn spread(quartiles: Quartiles, shown: fn(f64) -> String) -> String {
    format!("{} to {}", shown(quartiles.low), shown(quartiles.high))
}

fn ratio(value: f64) -> String {
    if value.is_nan() { "-".to_owned() } else { format!("{value:.2}") }
}

/// A speed with about three digits.
fn number(value: f64) -> String {
    if value >= 100.0 { format!("{value:.0}") } else { format!("{value:.1}") }
}

#[cfg(test)]
mod tests {
    use super::super::measured::Measured;
    use super::super::model::named;
    use super::super::tensors::Comparison;
    use super::*;

    fn results() -> Results {
        let measured = |steps_per_second| Measured {
            steps_per_second,
            first_step: 0.5,
            loss: 1.25,
            peak: 200.0,
            versions: [("jax".to_owned(), "0.9".to_owned())].into(),
        };
        let model = named("mlp").unwrap();
        let mut trained = Trained::new(model);
        trained.by.insert(Framework::Hookrack, vec![measured(300.0)]);
        trained.by.insert(Framework::Jax, vec![measured(150.0)]);
        let why = "No module named 'mmengine'".to_owned();
        let missing = vec![Missing { framework: Framework::MmEngine, model, why }];
        Results { rounds: 1, trained: vec![trained], missing }
    }

    fn tensors() -> Tensors {
        let against = |least| {
            let [ours, theirs, ratio] = [[2.0], [1.0], [0.5]].map(|it| Quartiles::of(&it));
            Comparison { name: "AdamW step", other: "PyTorch's", ours, theirs, ratio, least }
        };
        Tensors { lines: vec![against(1.0), against(0.4)], torch: "2.13.0+cpu".to_owned() }
    }

    #[test]
    fn the_page_has_figures_verdicts_versions_and_who_is_missing() {
        let (results, tensors) = (results(), tensors());
        let judged = super::super::targets::judged(&results, &tensors, &[1.0]);
        let page = page(&results, &tensors, &judged, "data/mnist");
        for part in [
            "| hookrack | 300 | 300 to 300 |  |  | 0.50 s | 200 MiB | 1.250 |",
            "| JAX, jit and Optax | 150 | 150 to 150 | 2.00 | 2.00 to 2.00 |",
            "| mlp, steps per second / JAX, jit and Optax | 2.00 | 2.00 to 2.00 | at least 1.2 | PASS |",
            "| 0.50 | 0.50 to 0.50 | at least 1 | missed |",
            "| mlp, steps per second / MMEngine | - | - to - | at least 8 | not measured |",
            "what 100 plugin hooks add to an iteration (1.00 µs) | 1.50 | 1.50 to 1.50 | at least 1 | PASS |",
            "jax 0.9, torch 2.13.0+cpu",
            "- MMEngine, `mlp`: No module named 'mmengine'",
        ] {
            assert!(page.contains(part), "{part} in:\n{page}");
        }
        assert!(chart(&results).contains("300 steps/s"));
    }

    #[test]
    fn processors_are_counted_by_name() {
        let cpuinfo =
            "processor\t: 0\nmodel name\t: A chip\n\nprocessor\t: 1\nmodel name\t: A chip\n";
        assert_eq!(cpu(cpuinfo), "2 processors of A chip");
        assert_eq!(cpu(""), "an unknown processor");
    }
}

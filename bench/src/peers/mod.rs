//! hookrack and its peers: the same models, data, batches, threads, optimizers, logging and averages.
//!
//! Each training is a process of its own. In every round all frameworks train every model, in random order: what disturbs the
//! machine for a while disturbs no one in particular, and ratios are taken within a round.

mod by_tch;
mod child;
mod document;
mod framework;
mod measured;
mod model;
mod results;
mod targets;
mod tch_models;
mod tensors;

pub(crate) use by_tch::{ByTchArgs, run as by_tch};

use crate::error::BenchError;
use crate::many_hooks;
use crate::measured_hooks::workspace;
use crate::progress::say;
use crate::report::{About, Line, Section, Target};
use clap::Args;
use framework::Framework;
use measured::Place;
use model::{MODELS, Model};
use results::{Figure, Missing, Results, Trained};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};
use targets::Verdict;
use tensors::Tensors;

/// Fewer rounds than these say little; the documents are not written.
const ENOUGH: usize = 5;

/// With whom and how to compare.
#[derive(Args)]
pub(crate) struct PeersArgs {
    /// Python interpreter with the peers installed
    #[arg(long, value_name = "PATH")]
    python: PathBuf,

    /// Folder with the files of Fashion-MNIST or MNIST
    #[arg(long, value_name = "DIR")]
    images: PathBuf,

    /// Models to train [default: all]
    #[arg(long, value_name = "NAME", value_delimiter = ',', value_parser = model::named)]
    models: Vec<&'static Model>,

    /// Number of rounds; in each, every framework trains every model once
    #[arg(long, default_value_t = ENOUGH, value_parser = rounds)]
    rounds: usize,

    /// Folder to write `benchmarks.md` and `img/benchmarks.svg` to [default: docs/, after at least 5 rounds of all models]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

fn rounds(text: &str) -> Result<usize, String> {
    let rounds = text.parse().map_err(|_| "must be a number".to_owned())?;
    if rounds == 0 { Err("must be at least 1".to_owned()) } else { Ok(rounds) }
}

/// Measures all, and writes the documents if it was enough for them.
pub(crate) fn measure(args: &PeersArgs) -> Result<Vec<Section>, BenchError> {
    let folder = tempfile::tempdir().map_err(BenchError::file(std::env::temp_dir()))?;
    let place = Place {
        python: args.python.clone(),
        images: args.images.clone(),
        text: text(folder.path())?,
        folder: folder.path().to_owned(),
    };
    let models = if args.models.is_empty() { MODELS.iter().collect() } else { args.models.clone() };
    let data = args.images.display().to_string();
    // A run that is interrupted leaves its whole rounds.
    let so_far = workspace().join("target/peers");
    say(&format!("the results so far are in {} after each round", so_far.display()));
    let results = train(&place, &models, args.rounds, &|results| {
        let judged = targets::judged(results, &Tensors::none(), &[]);
        document::write(&so_far, results, &Tensors::none(), &judged, &data)
    })?;
    let tensors = measured_or_said("AdamW and EMA over 25.6 million parameters", || {
        tensors::measure(&args.python, args.rounds)
    });
    let tensors = tensors.unwrap_or_else(Tensors::none);
    let hooks = measured_or_said("100 plugin hooks", || many_hooks::added(args.rounds));
    let judged = targets::judged(&results, &tensors, &hooks.unwrap_or_default());
    let is_enough = models.len() == MODELS.len() && args.rounds >= ENOUGH;
    let docs = args.out.clone().or_else(|| is_enough.then(|| workspace().join("docs")));
    match docs {
        Some(docs) => {
            document::write(&docs, &results, &tensors, &judged, &data)?;
            say(&format!("wrote benchmarks.md and img/benchmarks.svg to {}", docs.display()));
        }
        None => say("docs/benchmarks.md was not updated: that needs 5 rounds of all models"),
    }
    for Missing { framework, model, why } in &results.missing {
        say(&format!("missing: {} for {}: {why}", framework.name(), model.name));
    }
    Ok(sections(&results, &tensors, &judged))
}

/// Says what is measured, and why it could not be; what was trained before is not lost.
fn measured_or_said<T>(what: &str, measure: impl FnOnce() -> Result<T, BenchError>) -> Option<T> {
    say(what);
    measure().inspect_err(|error| say(&format!("{what} could not be measured: {error}"))).ok()
}

/// English that every checkout has: the documentation, in one file.
fn text(folder: &Path) -> Result<PathBuf, BenchError> {
    let docs = workspace().join("docs");
    let entries = fs::read_dir(&docs).map_err(BenchError::file(&docs))?;
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    // Not what benches write: their text would depend on the previous run.
    let is_text = |path: &PathBuf| {
        let is_written = path.ends_with("benchmarks.md") || path.ends_with("scaling.md");
        path.extension().is_some_and(|it| it == "md") && !is_written
    };
    let mut paths: Vec<_> = paths.filter(is_text).collect();
    paths.sort();
    let mut all = Vec::new();
    for path in paths {
        all.extend(fs::read(&path).map_err(BenchError::file(&path))?);
    }
    let file = folder.join("text");
    fs::write(&file, all).map_err(BenchError::file(&file))?;
    Ok(file)
}

/// Every round of every model; `after` is given the results after each round. A framework that fails is not tried again.
fn train(
    place: &Place,
    models: &[&'static Model],
    rounds: usize,
    after: &dyn Fn(&Results) -> Result<(), BenchError>,
) -> Result<Results, BenchError> {
    let trained = models.iter().map(|model| Trained::new(model)).collect();
    let mut results = Results { rounds: 0, trained, missing: Vec::new() };
    let mut rng = Rng::new();
    for round in 1..=rounds {
        let Results { trained, missing, .. } = &mut results;
        for Trained { model, by } in trained {
            let failed = |it: &Missing, framework| it.framework == framework && it.model == *model;
            let mut frameworks: Vec<_> = Framework::of(model)
                .filter(|framework| !missing.iter().any(|it| failed(it, *framework)))
                .collect();
            rng.shuffle(&mut frameworks);
            for framework in frameworks {
                let what =
                    format!("round {round} of {rounds}, {}: {}", model.name, framework.name());
                match place.train(model, framework)? {
                    Ok(measured) => {
                        say(&format!("{what}, {:.1} steps/s", measured.steps_per_second));
                        by.entry(framework).or_default().push(measured);
                    }
                    Err(why) => {
                        say(&format!("{what} failed: {why}"));
                        by.remove(&framework);
                        missing.push(Missing { framework, model, why });
                    }
                }
            }
        }
        results.rounds = round;
        after(&results)?;
    }
    Ok(results)
}

fn sections(results: &Results, tensors: &Tensors, judged: &[Verdict]) -> Vec<Section> {
    let models = results.trained.iter().map(|trained| {
        let lines = trained.by.keys().map(|framework| {
            let line =
                Line::new(framework.name(), trained.figure(*framework, Figure::Speed).median);
            match trained.advantage(*framework, Figure::Speed) {
                Some(ratio) => line.to(ratio.median),
                None => line,
            }
        });
        let title = format!(
            "steps per second, {}, 1 thread (medians of {} rounds of {} steps, in random order)",
            trained.model.about,
            results.rounds,
            trained.model.steps()
        );
        Section { title, unit: "steps/s", baseline: "hookrack / row", lines: lines.collect() }
    });
    let tensors = tensors.lines.iter().flat_map(|line| {
        let ours = Line::new(format!("hookrack, {}", line.name), line.ours.median);
        [ours.to(1.0), Line::new(line.other, line.theirs.median).to(line.ratio.median)]
    });
    let tensors = Section {
        title: format!(
            "ResNet-50's 25.6 million parameters (medians of {} rounds)",
            results.rounds
        ),
        unit: "ms",
        baseline: "it / hookrack",
        lines: tensors.collect(),
    };
    let goals = judged.iter().map(|it| {
        let line = Line::new(it.name.clone(), it.ratio.median);
        line.must(About::Value, Target::AtLeast(it.least))
    });
    let title = "targets (medians of the ratios within a round)".to_owned();
    let goals = Section { title, unit: "ratio", baseline: "", lines: goals.collect() };
    models.chain([tensors, goals]).collect()
}

/// Random orders, another one in each run.
struct Rng(u64);

impl Rng {
    fn new() -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self(now.as_secs() ^ u64::from(now.subsec_nanos()) << 32)
    }

    /// SplitMix64.
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    #[expect(clippy::cast_possible_truncation, reason = "below a length")]
    fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, (self.next() % (last as u64 + 1)) as usize);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shuffled_list_has_every_item_once_and_each_of_them_first_at_some_time() {
        let mut rng = Rng(1);
        let mut firsts = std::collections::BTreeSet::new();
        for _ in 0..100 {
            let mut items = [1, 2, 3, 4];
            rng.shuffle(&mut items);
            firsts.insert(items[0]);
            items.sort_unstable();
            assert_eq!(items, [1, 2, 3, 4]);
        }
        assert_eq!(firsts.len(), 4);
    }
}

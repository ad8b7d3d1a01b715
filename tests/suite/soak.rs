//! A run that is killed again and again ends as if it never was. `cargo xtask soak --kills 200` is the long form.

#![expect(clippy::print_stdout, reason = "the long form tells how far it is")]
use crate::patience;
use crate::resume::assert_same;
use crate::workbench::{Bench, RunFolder};
use std::fs;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

/// A schedule, checkpoints in the middle of epochs, averaged weights, metrics of training and validation, dropout, and
/// TensorBoard: scalars, pictures, histograms and texts, some of which wait for their writer at every checkpoint.
const CONFIG: &str = r#"
[lr_scheduler]
type = "CosineAnnealingLR"
[default_hooks]
timer = false
logger = { interval = 5 }
checkpoint = { epoch_period = 0, iter_period = 7, max_num_checkpoints = 3 }
[[metrics]]
type = "Accuracy"
name = "TrainAccuracy"
phase = "train"
[[custom_hooks]]
type = "EMAIterHook"
momentum = 0.9
[[metrics]]
type = "ConfusionMatrix"
[[custom_hooks]]
type = "TensorboardLoggerHook"
[[custom_hooks]]
type = "WeightHistogramHook"
bins = 8
[[custom_hooks]]
type = "Gallery"
writer = ""
"#;

/// When a process is killed.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Moment {
    /// So many milliseconds after it was started.
    Starting(u64),
    /// So many milliseconds after it wrote a checkpoint.
    Training(u64),
    /// While it writes a checkpoint, not the first one.
    Writing,
}

/// The same moments for the same seed.
pub(crate) struct Rng(pub(crate) u64);

impl Rng {
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }

    pub(crate) fn moment(&mut self) -> Moment {
        match self.below(5) {
            0 => Moment::Starting(self.below(250)),
            1 | 2 => Moment::Training(self.below(12)),
            _ => Moment::Writing,
        }
    }
}

pub(crate) fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// A run and how it is configured beside [`CONFIG`].
pub(crate) struct Soak {
    pub(crate) bench: Bench,
    pub(crate) settings: Vec<String>,
}

impl Soak {
    pub(crate) fn new(epochs: u64, precision: &str) -> Self {
        let settings = vec![
            "model.dropout=0.3".to_owned(),
            "data.train.samples=100".to_owned(),
            format!("train.max_epochs={epochs}"),
            format!("train.precision={precision}"),
            // In fp16 the scale doubles until gradients overflow, again and again; elsewhere there is none.
            "train.loss_scaler={growth_interval=3}".to_owned(),
        ];
        Self { bench: Bench::new(CONFIG), settings }
    }

    /// The run that is left alone.
    fn whole(&self) -> RunFolder {
        let settings: Vec<_> = self.settings.iter().map(String::as_str).collect();
        self.bench.trained("whole", &settings)
    }

    /// Starts or resumes the run that is killed.
    fn start(&self) -> Child {
        let train = ["train", "config.toml", "--resume", "--run-dir", "killed", "--quiet"];
        let settings = self.settings.iter().map(String::as_str);
        let mut command = self.bench.command(train.into_iter().chain(settings));
        command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    }
}

pub(crate) fn is_writing(checkpoints: &Path) -> bool {
    let entries = fs::read_dir(checkpoints).into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name()).any(|name| name.to_string_lossy().starts_with(".iter_"))
}

/// Waits for the moment; false if the process ended before.
pub(crate) fn wait_for(moment: Moment, child: &mut Child, checkpoints: &Path) -> bool {
    let latest = || fs::read_to_string(checkpoints.join("latest")).unwrap_or_default();
    let (began, before) = (Instant::now(), latest());
    let mut advanced = None;
    loop {
        if child.try_wait().unwrap().is_some() {
            return false;
        }
        if advanced.is_none() && latest() != before {
            advanced = Some(Instant::now());
        }
        let since = |instant: Instant, millis| instant.elapsed() >= Duration::from_millis(millis);
        let is_now = match moment {
            Moment::Starting(millis) => since(began, millis),
            Moment::Training(millis) => advanced.is_some_and(|instant| since(instant, millis)),
            Moment::Writing => advanced.is_some() && is_writing(checkpoints),
        };
        assert!(!since(began, 120_000), "no {moment:?} within two minutes");
        if is_now {
            return true;
        }
        std::thread::sleep(Duration::from_micros(50));
    }
}

/// Kills a run this many times and compares its end with that of an uninterrupted run; returns the steps that loss
/// scaling left out.
fn soak(precision: &str) -> f64 {
    let (kills, seed) = (number("HOOKRACK_SOAK_KILLS", 10), number("HOOKRACK_SOAK_SEED", 1));
    let began = Instant::now();
    // 25 iterations each; a process that is killed comes to its second or third checkpoint, 7 iterations each.
    let soak = Soak::new(4 + kills, precision);
    let whole = soak.whole();
    let run = soak.bench.folder("killed");
    let checkpoints = run.path.join("checkpoints");
    let mut rng = Rng(seed);
    let mut within_a_write = 0;
    for kill in 1..=kills {
        let moment = rng.moment();
        let mut child = soak.start();
        assert!(wait_for(moment, &mut child, &checkpoints), "the run ended before kill {kill}");
        child.kill().unwrap();
        child.wait().unwrap();
        within_a_write += u64::from(is_writing(&checkpoints));
        println!("{precision}: kill {kill} of {kills}: {moment:?}");
    }
    assert!(patience::wait(&mut soak.start()).success());
    assert_same(&whole, &run, &format!("{precision} after {kills} kills with seed {seed}"));
    assert!(!is_writing(&checkpoints), "what was half written is gone");
    println!(
        "{precision}: {kills} kills, {within_a_write} of them within a write, {} iterations, {:.0} s: the same run, bit \
         for bit",
        whole.record()["iter"],
        began.elapsed().as_secs_f64()
    );
    assert!(within_a_write > 0);
    if precision == "fp16" { whole.scalar("train/skipped_steps") } else { 0.0 }
}

#[test]
fn a_run_that_is_killed_at_random_moments_ends_as_if_it_never_was() {
    soak("fp32");
}

#[test]
fn a_run_with_a_loss_scale_that_is_killed_at_random_moments_ends_as_if_it_never_was() {
    let skipped = soak("fp16");
    assert!(skipped > 3.0, "{skipped}: the scale was at work");
}

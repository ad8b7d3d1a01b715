//! Two ranks compared with PyTorch's DistributedDataParallel: steps per second, and how much of the reduction overlaps with the backward pass.

use crate::error::BenchError;
use crate::measured_hooks::workspace;
use crate::overlap;
use crate::program;
use crate::report::{About, Line, Section, Target};
use crate::rounds::{median, quantile};
use clap::Args;
use serde_json::Value as Json;
use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The minimum speed relative to DistributedDataParallel.
const LEAST: f64 = 1.0;
/// Epochs of a round; the first one is a warm-up.
const EPOCHS: usize = 3;

/// What to compare with.
#[derive(Args)]
pub(crate) struct RanksArgs {
    /// Python interpreter with torch installed
    #[arg(long, value_name = "PATH")]
    python: PathBuf,
}

/// A model that both train; `scripts/bench/ddp.py` has the same ones.
struct Case {
    name: &'static str,
    about: &'static str,
    model: &'static str,
    optimizer: &'static str,
    data: fn(&Path, usize) -> String,
    batch: usize,
    iters: usize,
}

const SGD: &str = "type = \"SGD\"\nlr = 0.01\nmomentum = 0.9";

const CASES: [Case; 3] = [
    Case {
        name: "MLP",
        about: "MLP 784-512-512-10, batch 64",
        model: "type = \"MLP\"\nhidden = [512, 512]",
        optimizer: SGD,
        data: images,
        batch: 64,
        iters: 200,
    },
    Case {
        name: "LeNet",
        about: "LeNet 32-64-256, batch 64",
        model: "type = \"LeNet\"\nchannels = [32, 64]\npadding = 2\nhidden = [256]",
        optimizer: SGD,
        data: images,
        batch: 64,
        iters: 20,
    },
    Case {
        name: "GPT",
        about: "GPT of 10.8 million parameters, batch 4 of 128 tokens, AdamW",
        model: "type = \"GPT\"\nlayers = 6\nheads = 6\nwidth = 384",
        optimizer: "type = \"AdamW\"\nlr = 0.001",
        data: texts,
        batch: 4,
        iters: 6,
    },
];

fn images(_: &Path, rows: usize) -> String {
    format!(
        "type = \"Synthetic\"\nsamples = {rows}\nshape = [1, 28, 28]\nclasses = 10\nin_memory = true"
    )
}

/// Writes a file of random bytes.
fn texts(file: &Path, rows: usize) -> String {
    let mut state = 1_u32;
    let mut byte = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state.to_be_bytes()[0]
    };
    let text: Vec<u8> = (0..=rows * 128).map(|_| byte()).collect();
    // A missing file is reported when it is read.
    let _ = fs::write(file, text);
    format!("type = \"Text\"\npath = \"{}\"\ncontext = 128", file.display())
}

/// Measures every model in turn, round by round.
pub(crate) fn measure(args: &RanksArgs, rounds: usize) -> Result<Vec<Section>, BenchError> {
    let folder = tempfile::tempdir().map_err(BenchError::file(std::env::temp_dir()))?;
    let mut speeds = CASES.map(|_| [const { Vec::new() }; 2]);
    for round in 0..rounds {
        for (case, speeds) in CASES.iter().zip(&mut speeds) {
            // Alternates which one runs first.
            for turn in 0..2 {
                let which = (turn + round) % 2;
                let seconds = match which {
                    0 => case.by_host(folder.path(), "")?,
                    _ => case.by_ddp(folder.path(), &args.python)?,
                };
                let steps = seconds.iter().skip(1).map(|seconds| rate(case.iters, *seconds));
                speeds[which].extend(steps);
            }
        }
    }
    let sections = CASES.iter().zip(&speeds).map(|(case, speeds)| case.section(rounds, speeds));
    Ok(sections.chain([overlapped(folder.path())?]).collect())
}

#[expect(clippy::cast_precision_loss, reason = "few iterations")]
fn rate(iters: usize, seconds: f64) -> f64 {
    iters as f64 / seconds
}

impl Case {
    /// The seconds of each epoch on two ranks.
    fn by_host(&self, folder: &Path, more: &str) -> Result<Vec<f64>, BenchError> {
        let run = folder.join("run");
        let _ = fs::remove_dir_all(&run);
        let config = folder.join("config.toml");
        let text = self.config(&folder.join("text"), more);
        fs::write(&config, text).map_err(BenchError::file(&config))?;
        let launch =
            ["launch", "-n", "2", "--", "train", &config.to_string_lossy()].map(str::to_owned);
        let run_dir = ["--quiet".to_owned(), "--run-dir".to_owned(), run.display().to_string()];
        program::seconds(&[&launch[..], &run_dir].concat())?;
        let metrics = run.join("metrics.json");
        let lines = fs::read_to_string(&metrics).map_err(BenchError::file(&metrics))?;
        let lines = lines.lines().filter_map(|line| serde_json::from_str::<Json>(line).ok());
        Ok(lines.filter_map(|line| line["train/epoch_time"].as_f64()).collect())
    }

    fn config(&self, text: &Path, more: &str) -> String {
        let Self { model, optimizer, batch, iters, .. } = self;
        let data = (self.data)(text, batch * iters);
        format!(
            "[model]\n{model}\n[data.train]\n{data}\n[loss]\ntype = \"CrossEntropy\"\n[optimizer]\n{optimizer}\n[lr_scheduler]\n\
             type = \"ConstantLR\"\n[train]\nmax_epochs = {EPOCHS}\nbatch_size = {batch}\nthreads = 1\nseed = 1\n\
             [default_hooks]\ncheckpoint = false\n{more}"
        )
    }

    fn by_ddp(&self, folder: &Path, python: &Path) -> Result<Vec<f64>, BenchError> {
        let out = folder.join("ddp.json");
        let port = TcpListener::bind("127.0.0.1:0").and_then(|it| it.local_addr());
        let port = port.map_err(BenchError::file("127.0.0.1"))?.port();
        let mut command = Command::new(python);
        command.arg(workspace().join("scripts/bench/ddp.py")).args(["--model", self.name]);
        let numbers = [("--batch", self.batch), ("--iters", self.iters), ("--epochs", EPOCHS)];
        for (name, number) in numbers.into_iter().chain([("--port", port.into())]) {
            command.args([name, &number.to_string()]);
        }
        let output = command.arg("--out").arg(&out).output().map_err(BenchError::file(python))?;
        if !output.status.success() {
            let why = String::from_utf8_lossy(&output.stderr).trim().to_owned();
            return Err(BenchError::Python { script: "ddp.py", why });
        }
        let found = fs::read(&out).map_err(BenchError::file(&out))?;
        let found: Json = serde_json::from_slice(&found).unwrap_or_default();
        Ok(found["seconds"].as_array().into_iter().flatten().filter_map(Json::as_f64).collect())
    }

    fn section(&self, rounds: usize, [host, ddp]: &[Vec<f64>; 2]) -> Section {
        let ratios: Vec<_> = host.iter().zip(ddp).map(|(host, ddp)| host / ddp).collect();
        let title = format!(
            "steps per second on 2 ranks with 1 thread each, {} (medians of {rounds} interleaved rounds of {} steps)",
            self.about,
            self.iters * (EPOCHS - 1)
        );
        let lines = vec![
            Line::new("PyTorch's DistributedDataParallel", median(ddp)).to(1.0),
            Line::new("hookrack, default hooks", median(host))
                .to(median(&ratios))
                .must(About::Ratio, Target::AtLeast(LEAST)),
            Line::new("  a quarter of the rounds is below", quantile(host, 0.25))
                .to(quantile(&ratios, 0.25)),
            Line::new("  a quarter of the rounds is above", quantile(host, 0.75))
                .to(quantile(&ratios, 0.75)),
        ];
        Section { title, unit: "steps/s", baseline: "x DDP", lines }
    }
}

/// The share of the reduction that overlaps with the backward pass, from a trace of rank 0.
fn overlapped(folder: &Path) -> Result<Section, BenchError> {
    let hook = "[[custom_hooks]]\ntype = \"AutogradProfilerHook\"\nwait = 6\nactive = 5\n";
    let plugins =
        format!("[plugins]\ndirs = [\"{}\"]\n{hook}", workspace().join("plugins").display());
    let mut lines = Vec::new();
    for case in &CASES {
        case.by_host(folder, &plugins)?;
        let share = overlap::share(&folder.join("run/profile"))?;
        lines.push(Line::new(case.about, 100.0 * share));
    }
    let title = "share of the gradients' reduction during which the backward pass computes (trace of rank 0)";
    Ok(Section { title: title.to_owned(), unit: "%", baseline: "", lines })
}

//! `cargo xtask pipeline`: every model under every schedule against one process, bit for bit; with `--measure`, memory and bubble of real
//! runs.

use std::{fmt::Write as _, fs, path::Path};

use serde_json::Value;

use super::{Profile, build};
use crate::{
    cli::Pipeline,
    error::TaskError,
    files::{self, During as _},
    process, report, testing,
    workspace::Workspace,
};

pub(crate) fn pipeline(workspace: &Workspace, args: &Pipeline) -> Result<(), TaskError> {
    if args.measure {
        return measure(workspace, args.iters);
    }
    build(workspace, Profile::Dev)?;
    let steps = args.steps;
    report::step(&format!("2 and 4 stages over {steps} steps"));
    let mut command = testing::suite(workspace, "pipeline::");
    command.env("HOOKRACK_PIPELINE_STEPS", steps.to_string());
    Ok(process::run(&mut command)?)
}

/// The schedules that are measured, with the name of their picture in the docs.
const MEASURED: [(&str, &str); 3] = [
    ("GPipe", "pipeline_gpipe.svg"),
    ("OneFOneB", "pipeline_1f1b.svg"),
    ("Interleaved1F1B", "pipeline_interleaved.svg"),
];

/// A GPT of 8 blocks on the text of the documentation: 16 micro-batches of 8 rows of 128 tokens.
const CONFIG: &str = r#"
[model]
type = "GPT"
layers = 8
heads = 4
width = 128

[data.train]
type = "Text"
path = "text.txt"
context = 128
stride = 32
drop_last = true

[loss]
type = "CrossEntropy"

[optimizer]
type = "AdamW"
lr = 0.001

[train]
batch_size = 128
threads = 1

[schedule]
stages = 2
microbatches = 16

[default_hooks]
checkpoint = false
"#;

/// Trains a deep GPT under every schedule, prints what was measured beside what was planned, and puts the timelines into the docs.
fn measure(workspace: &Workspace, iters: u64) -> Result<(), TaskError> {
    let built = build(workspace, Profile::Dev)?;
    let folder = built.metadata.target.join("pipeline");
    files::fresh_folder(&folder)?;
    let text = folder.join("text.txt");
    fs::write(&text, documentation(workspace)?).during("write", &text)?;
    let mut table = String::from(
        "| schedule | peak memory, MiB | bubble | planned with the measured times | live micro-batches |\n|---|---|---|---|---|\n",
    );
    let mut peaks = Vec::new();
    for (schedule, picture) in MEASURED {
        report::step(&format!("{schedule} on 2 stages over {iters} iterations"));
        let config = folder.join("config.toml");
        let chosen = CONFIG.replace("[schedule]", &format!("[schedule]\ntype = \"{schedule}\""));
        fs::write(&config, chosen).during("write", &config)?;
        let mut command = process::command(built.folder.join("hookrack"));
        command.current_dir(&folder).args(["launch", "-n", "2", "--", "train", "config.toml"]);
        command.args(["--quiet", "--run-dir", schedule, "-s", &format!("train.max_iters={iters}")]);
        process::run(&mut command)?;
        let run = folder.join(schedule);
        let found = record(&run.join("run.json"))?;
        peaks.push(most(&found["peak_memory_bytes"]));
        let _ = writeln!(table, "{}", row(schedule, &found));
        let to = workspace.root().join("docs/img").join(picture);
        files::copy_if_different(&run.join("pipeline.svg"), &to)?;
    }
    table.lines().for_each(report::passed_on);
    match peaks.as_slice() {
        [gpipe, one_f_one_b, ..] if one_f_one_b < gpipe => Ok(()),
        _ => Err(TaskError::Checks {
            failed: 1,
            all: 1,
            names: "OneFOneB needs less memory than GPipe".to_owned(),
        }),
    }
}

/// Enough text for some batches.
fn documentation(workspace: &Workspace) -> Result<String, TaskError> {
    let mut text = String::new();
    for name in ["README.md", "ARCHITECTURE.md", "CHANGELOG.md", "docs/config.md", "docs/hooks.md"]
    {
        let path = workspace.root().join(name);
        text.push_str(&fs::read_to_string(&path).during("read", &path)?);
    }
    Ok(text)
}

/// The pipeline of a run, from its `run.json`.
fn record(path: &Path) -> Result<Value, TaskError> {
    let text = fs::read_to_string(path).during("read", path)?;
    let record: Value = serde_json::from_str(&text).unwrap_or_default();
    Ok(record["pipeline"].clone())
}

fn most(list: &Value) -> u64 {
    list.as_array().into_iter().flatten().filter_map(Value::as_u64).max().unwrap_or(0)
}

fn row(schedule: &str, found: &Value) -> String {
    let list = |key: &str, divisor: u64| {
        let numbers = found[key].as_array().into_iter().flatten().filter_map(Value::as_u64);
        numbers.map(|it| (it / divisor).to_string()).collect::<Vec<_>>().join(", ")
    };
    let share = |key: &str| format!("{:.1} %", 100.0 * found[key].as_f64().unwrap_or(f64::NAN));
    format!(
        "| `{schedule}` | {} | {} | {} | {} |",
        list("peak_memory_bytes", 1 << 20),
        share("bubble"),
        share("planned_bubble"),
        list("live_micro_batches", 1)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_has_what_was_measured_beside_what_was_planned() {
        let found = serde_json::json!({
            "bubble": 0.1234, "planned_bubble": 0.1, "peak_memory_bytes": [3 << 20, 5 << 20],
            "live_micro_batches": [2, 1],
        });
        assert_eq!(row("GPipe", &found), "| `GPipe` | 3, 5 | 12.3 % | 10.0 % | 2, 1 |");
        assert_eq!(most(&found["peak_memory_bytes"]), 5 << 20);
    }
}

//! Complete runs: in every phase, at other levels and cadences, stopped early, failing.

use super::{Case, CaseEnv, Outcome, ensure};
use crate::hooks::CallbackHook;
use crate::train::{Ending, Limits, Trainer};
use hookrack_plugin_api::{Error, Level, OnError, Point};
use std::process::{Command, ExitStatus};

/// The error of the hook that fails in `run.failing`.
const SABOTAGE: &str = "on purpose";

pub(super) static CASES: &[Case] = &[
    Case::new("run.train", "A run with every hook and metric completes.", |case| {
        completes(case, "", &[])
    }),
    Case::new("run.train_twice", "Two consecutive runs complete in one process.", train_twice),
    Case::new(
        "run.same_numbers",
        "Two runs with the same seed end with the same weights.",
        same_numbers,
    ),
    Case::new("run.evaluate", "An evaluation completes.", |case| ended(&trainer(case)?.test().0)),
    Case::new("run.predict", "A prediction completes.", |case| ended(&trainer(case)?.predict().0)),
    Case::new("run.without_validation", "A run without validation completes.", |case| {
        completes(case, "", &["default_hooks.evaluate=false"])
    }),
    Case::new("run.micro_batches", "A run with two micro-batches completes.", |case| {
        completes(case, "", &["train.accumulation=2"])
    }),
    Case::new("run.bf16", "A run in bf16 completes.", |case| {
        completes(case, "", &["train.precision=bf16"])
    }),
    Case::new("run.stopped", "A run that is stopped after an iteration ends cleanly.", stopped),
    Case::new("run.failing", "A run that fails because of another hook causes no crash.", failing),
    Case::new("run.first", "At the level HIGHEST the run completes.", |case| {
        completes(case, "level = \"highest\"", &[])
    }),
    Case::new("run.last", "At the level LOWEST the run completes.", |case| {
        completes(case, "level = \"lowest\"", &[])
    }),
    Case::new(
        "run.every_second_iteration",
        "Called every second iteration, the run completes.",
        |case| completes(case, "every = \"2it\"", &[]),
    ),
    Case::new("run.every_second_epoch", "Called every second epoch, the run completes.", |case| {
        completes(case, "every = \"2ep\"", &[])
    }),
    Case::new("run.only_in_validation", "Called only in validation, the run completes.", |case| {
        completes(case, "phase = \"val\"", &[])
    }),
    Case::new("run.observers", "Hooks without `mutates` do not change the weights.", observers)
        .unless(changes_run),
    Case::new(
        "run.killed_and_resumed",
        "A run that is killed and resumed equals an uninterrupted one bit for bit.",
        resumed,
    ),
    Case::new("run.time", "A call takes less than 50 ms on average.", time),
];

pub(super) fn fit(case: &CaseEnv, more: &str, sets: &[&str]) -> Result<Trainer, String> {
    case.fit(&case.entries(more)?, sets)
}

fn trainer(case: &CaseEnv) -> Result<Trainer, String> {
    case.trainer(&case.entries("")?, &[])
}

fn completes(case: &CaseEnv, more: &str, sets: &[&str]) -> Outcome {
    fit(case, more, sets).map(drop)
}

pub(super) fn weights(trainer: &Trainer) -> Vec<Vec<f32>> {
    let engine = trainer.context().engine.borrow();
    let numbers = |tensor: &tch::Tensor| {
        Vec::<f32>::try_from(tensor.detach().flatten(0, -1)).unwrap_or_default()
    };
    engine.params().iter().map(|param| numbers(&param.tensor)).collect()
}

fn train_twice(case: &CaseEnv) -> Outcome {
    completes(case, "", &[]).and_then(|()| completes(case, "", &[]))
}

fn same_numbers(case: &CaseEnv) -> Outcome {
    let first = fit(case, "", &[])?;
    let second = fit(case, "", &[])?;
    ensure(weights(&first) == weights(&second), || "the weights differ".to_owned())
}

pub(super) fn ended(ending: &Ending) -> Outcome {
    match ending {
        Ending::Failed(error) => Err(error.to_string()),
        _ => Ok(()),
    }
}

fn stopped(case: &CaseEnv) -> Outcome {
    let mut trainer = trainer(case)?;
    trainer.limit(Limits::new(0.0, Some(1), None));
    ended(&trainer.fit())
}

fn failing(case: &CaseEnv) -> Outcome {
    let mut job = case.job(&case.entries("")?, &[])?;
    let hook = CallbackHook::new("saboteur").level(Level::LOWEST).on_error(OnError::Abort);
    let hook = hook.at(Point::AfterTrainIter, |_| Err(Error::new(SABOTAGE)));
    job.add(hook).map_err(|error| error.to_string())?;
    let ending = case.assemble(&job)?.fit();
    let (_, why) = ending.describe();
    ensure(why.contains(SABOTAGE), || format!("the run ended with another error: {why}"))
}

fn changes_run(case: &CaseEnv) -> Result<Option<String>, String> {
    let library = case.open()?;
    let hook = library.hooks.iter().find(|hook| hook.manifest.changes_run());
    Ok(hook.map(|hook| format!("`{}` declares that it changes the run", hook.name())))
}

fn observers(case: &CaseEnv) -> Outcome {
    let own = fit(case, "", &[])?;
    let alone = case.fit("", &[])?;
    ensure(weights(&own) == weights(&alone), || "the weights differ".to_owned())
}

fn resumed(case: &CaseEnv) -> Outcome {
    let config = case.config(&case.entries("")?)?;
    let (status, said) = run_hookrack(|command| {
        command.arg("verify-resume").arg(config).args(["--at", "2", "--steps", "2"]);
    })?;
    ensure(status.success(), || said)
}

/// Runs this program with other arguments: how it ended, and what it said.
pub(super) fn run_hookrack(
    with: impl FnOnce(&mut Command),
) -> Result<(ExitStatus, String), String> {
    let mut command = Command::new(std::env::current_exe().map_err(|error| error.to_string())?);
    with(&mut command);
    let output = command.output().map_err(|error| error.to_string())?;
    Ok((output.status, String::from_utf8_lossy(&output.stderr).trim().to_owned()))
}

fn time(case: &CaseEnv) -> Outcome {
    let trainer = fit(case, "", &[])?;
    let own: Vec<_> = case.hooks()?.iter().map(|hook| hook.name().to_owned()).collect();
    trainer.costs().iter().filter(|cost| own.contains(&cost.name)).try_for_each(|cost| {
        let calls = u32::try_from(cost.calls().max(1)).unwrap_or(u32::MAX);
        let mean = cost.total() / calls;
        ensure(mean.as_millis() < 50, || format!("`{}` takes {mean:?} on average", cost.name))
    })
}

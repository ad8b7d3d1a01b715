//! Complete runs: in every phase, at other levels and cadences, stopped early, failing.

use super::{Case, CaseEnv, Verdict, ensure, judge};
use crate::hooks::CallbackHook;
use crate::job::Job;
use crate::train::{Ending, Limits, Trainer};
use hookrack_plugin_api::{Error, Level, OnError, Point};
use std::process::Command;

/// The error of the hook that fails in `run.failing`.
const SABOTAGE: &str = "on purpose";

pub(super) static CASES: &[Case] = &[
    Case::new("run.train", "A run with every hook and metric completes.", train),
    Case::new("run.train_twice", "Two consecutive runs complete in one process.", train_twice),
    Case::new(
        "run.same_numbers",
        "Two runs with the same seed end with the same weights.",
        same_numbers,
    ),
    Case::new("run.evaluate", "An evaluation completes.", evaluate),
    Case::new("run.predict", "A prediction completes.", predict),
    Case::new("run.without_validation", "A run without validation completes.", without_validation),
    Case::new("run.micro_batches", "A run with two micro-batches completes.", micro_batches),
    Case::new("run.bf16", "A run in bf16 completes.", bf16),
    Case::new("run.stopped", "A run that is stopped after an iteration ends cleanly.", stopped),
    Case::new("run.failing", "A run that fails because of another hook causes no crash.", failing),
    Case::new("run.first", "At the level HIGHEST the run completes.", first),
    Case::new("run.last", "At the level LOWEST the run completes.", last),
    Case::new(
        "run.every_second_iteration",
        "Called every second iteration, the run completes.",
        every_it,
    ),
    Case::new("run.every_second_epoch", "Called every second epoch, the run completes.", every_ep),
    Case::new("run.only_in_validation", "Called only in validation, the run completes.", only_val),
    Case::new("run.observers", "Hooks without `mutates` do not change the weights.", observers),
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

fn completes(case: &CaseEnv, more: &str, sets: &[&str]) -> Verdict {
    judge(fit(case, more, sets).map(drop))
}

pub(super) fn weights(trainer: &Trainer) -> Vec<Vec<f32>> {
    let engine = trainer.context().engine.borrow();
    let numbers = |tensor: &tch::Tensor| {
        Vec::<f32>::try_from(tensor.detach().flatten(0, -1)).unwrap_or_default()
    };
    engine.params().iter().map(|param| numbers(&param.tensor)).collect()
}

fn train(case: &CaseEnv) -> Verdict {
    completes(case, "", &[])
}

fn train_twice(case: &CaseEnv) -> Verdict {
    judge(fit(case, "", &[]).map(drop).and_then(|()| fit(case, "", &[]).map(drop)))
}

fn same_numbers(case: &CaseEnv) -> Verdict {
    judge(fit(case, "", &[]).and_then(|first| {
        let second = fit(case, "", &[])?;
        ensure(weights(&first) == weights(&second), || "the weights differ".to_owned())
    }))
}

fn ended(ending: &Ending) -> Result<(), String> {
    match ending {
        Ending::Failed(error) => Err(error.to_string()),
        _ => Ok(()),
    }
}

fn evaluate(case: &CaseEnv) -> Verdict {
    let trainer = case.entries("").and_then(|entries| case.trainer(&entries, &[]));
    judge(trainer.and_then(|mut trainer| ended(&trainer.test().0)))
}

fn predict(case: &CaseEnv) -> Verdict {
    let trainer = case.entries("").and_then(|entries| case.trainer(&entries, &[]));
    judge(trainer.and_then(|mut trainer| ended(&trainer.predict().0)))
}

fn without_validation(case: &CaseEnv) -> Verdict {
    completes(case, "", &["default_hooks.evaluate=false"])
}

fn micro_batches(case: &CaseEnv) -> Verdict {
    completes(case, "", &["train.accumulation=2"])
}

fn bf16(case: &CaseEnv) -> Verdict {
    completes(case, "", &["train.precision=bf16"])
}

fn stopped(case: &CaseEnv) -> Verdict {
    let trainer = case.entries("").and_then(|entries| case.trainer(&entries, &[]));
    judge(trainer.and_then(|mut trainer| {
        trainer.limit(Limits::new(0.0, Some(1), None));
        ended(&trainer.fit())
    }))
}

fn failing(case: &CaseEnv) -> Verdict {
    judge(case.entries("").and_then(|entries| {
        let job = Job::load(&case.config(&entries)?, &[]);
        let mut job = job.map_err(|error| error.to_string())?;
        let hook = CallbackHook::new("saboteur").level(Level::LOWEST).on_error(OnError::Abort);
        let hook = hook.at(Point::AfterTrainIter, |_| Err(Error::new(SABOTAGE)));
        job.add(hook).map_err(|error| error.to_string())?;
        let ending = case.assemble(&job)?.fit();
        let (_, why) = ending.describe();
        ensure(why.contains(SABOTAGE), || format!("the run ended with another error: {why}"))
    }))
}

fn first(case: &CaseEnv) -> Verdict {
    completes(case, "level = \"highest\"", &[])
}

fn last(case: &CaseEnv) -> Verdict {
    completes(case, "level = \"lowest\"", &[])
}

fn every_it(case: &CaseEnv) -> Verdict {
    completes(case, "every = \"2it\"", &[])
}

fn every_ep(case: &CaseEnv) -> Verdict {
    completes(case, "every = \"2ep\"", &[])
}

fn only_val(case: &CaseEnv) -> Verdict {
    completes(case, "phase = \"val\"", &[])
}

fn observers(case: &CaseEnv) -> Verdict {
    let library = match case.open() {
        Ok(library) => library,
        Err(error) => return Verdict::Failed(error),
    };
    let changes = library.hooks.iter().find(|hook| hook.manifest.changes_run());
    if let Some(hook) = changes {
        return Verdict::Skipped(format!("`{}` declares that it changes the run", hook.name()));
    }
    judge(fit(case, "", &[]).and_then(|own| {
        let alone = case.fit("", &[])?;
        ensure(weights(&own) == weights(&alone), || "the weights differ".to_owned())
    }))
}

fn resumed(case: &CaseEnv) -> Verdict {
    judge(case.entries("").and_then(|entries| {
        let config = case.config(&entries)?;
        let program = std::env::current_exe().map_err(|error| error.to_string())?;
        let mut command = Command::new(program);
        command.arg("verify-resume").arg(config).args(["--at", "2", "--steps", "2"]);
        let output = command.output().map_err(|error| error.to_string())?;
        let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        ensure(output.status.success(), || said)
    }))
}

fn time(case: &CaseEnv) -> Verdict {
    judge(fit(case, "", &[]).and_then(|trainer| {
        let own: Vec<_> = case.hooks()?.iter().map(|hook| hook.name().to_owned()).collect();
        trainer.costs().iter().filter(|cost| own.contains(&cost.name)).try_for_each(|cost| {
            let calls = u32::try_from(cost.calls().max(1)).unwrap_or(u32::MAX);
            let mean = cost.total() / calls;
            ensure(mean.as_millis() < 50, || format!("`{}` takes {mean:?} on average", cost.name))
        })
    }))
}

//! What a failing hook does to a run: each error policy does what it says, and the message names what failed.

use crate::workbench::{Bench, faulty, hook};

/// A config whose hook `bad` fails as told.
fn bench(settings: &str) -> Bench {
    Bench::new(&hook("Faulty", &format!("name = 'bad'\nfile = 'calls'\n{settings}")))
}

fn failing(how: &str, policy: &str) -> Bench {
    bench(&format!("at = \"after_train_iter\"\niter = 3\nhow = \"{how}\"\non_error = \"{policy}\""))
}

/// The iterations at which the hook was called at `after_train_iter`.
fn called(bench: &Bench) -> Vec<String> {
    let calls = bench.read("calls");
    let calls = calls.lines().filter_map(|line| line.strip_prefix("after_train_iter "));
    calls.map(|rest| rest.split(' ').next().unwrap().to_owned()).collect()
}

/// What each failure says, after hook, library, point, epoch and iteration.
const KINDS: [(&str, &str, &str); 6] = [
    ("error", "failed", "it failed on purpose"),
    ("panic", "panicked", "it panicked on purpose"),
    ("panic_without_words", "panicked", ""),
    ("stale_tensor", "failed", "the tensor handle is stale"),
    ("bad_operator", "failed", "aten::"),
    ("bad_item", "failed", "does not have a single element"),
];

fn message(verb: &str) -> String {
    format!("hook `bad` (libfaulty.so) {verb} at after_train_iter, epoch 2, iteration 3: ")
}

#[test]
fn abort_ends_the_run_with_code_4_and_names_hook_library_point_epoch_and_iteration() {
    for (how, verb, why) in KINDS {
        let bench = failing(how, "abort");
        let (ran, run) = bench.train("run", &[]);
        ran.expect(4).says(&[&message(verb), why]);
        assert_eq!(called(&bench), ["1", "2", "3"], "{how}");
        let record = run.record();
        assert_eq!(record["outcome"], "failed");
        assert!(record["why"].as_str().unwrap().starts_with(&message(verb)), "{record}");
        assert_eq!((&record["epoch"], &record["iter"]), (&2.into(), &3.into()));
    }
}

#[test]
fn of_two_failures_at_the_closing_point_the_first_ends_the_run_and_the_later_is_logged() {
    let fails = |name: &str| faulty(name, "after_run", "how = 'error'\non_error = 'abort'");
    let bench = Bench::new(&(fails("one") + &fails("two")));
    let (ran, run) = bench.train("run", &[]);
    ran.expect(4).says(&["after the failure: hook `two`", "hook `one`"]);
    assert!(run.record()["why"].as_str().unwrap().starts_with("hook `one`"), "{}", run.record());
}

#[test]
fn disable_switches_the_hook_off_and_training_completes() {
    for (how, verb, why) in KINDS.into_iter().take(2) {
        let bench = failing(how, "disable");
        let (ran, run) = bench.train("run", &[]);
        ran.expect(0).says(&[&message(verb), why, "it is disabled for the rest of the run"]);
        let calls = bench.read("calls");
        assert!(
            calls.trim_end().ends_with("after_train_iter 3 running"),
            "{how}: called again after its failure:\n{calls}"
        );
        assert_eq!(run.record()["outcome"], "completed");
        assert_eq!(run.record()["iter"], 4);
        assert!(run.text("log.txt").contains(&message(verb)), "{how}");
    }
}

#[test]
fn warn_continues_after_an_error_and_disables_after_a_panic() {
    for (how, verb, why) in KINDS.into_iter().take(2) {
        let bench = failing(how, "warn");
        let (ran, run) = bench.train("run", &[]);
        ran.expect(0).says(&[&message(verb), why, "(on_error = \"warn\")"]);
        let panicked = verb == "panicked";
        let expected: &[&str] = if panicked { &["1", "2", "3"] } else { &["1", "2", "3", "4"] };
        assert_eq!(called(&bench), expected, "{how}");
        let then = if panicked { "it is disabled" } else { "it stays enabled" };
        ran.says(&[then]);
        assert_eq!(bench.read("calls").contains("on_detach"), !panicked);
        assert_eq!(run.record()["outcome"], "completed");
    }
}

#[test]
fn an_observer_is_switched_off_by_default_and_what_changes_training_ends_it() {
    let observer = bench("at = \"before_train_iter\"\nhow = \"error\"");
    observer.train("run", &[]).0.expect(0).says(&["is disabled", "(on_error = \"disable\")"]);
    let changer = Bench::new(&hook("FaultyRole", "panics = false"));
    changer.train("run", &[]).0.expect(5);
}

#[test]
fn a_role_that_fails_or_panics_ends_training_with_code_5_whatever_the_policy() {
    for (policy, panics) in [("abort", true), ("disable", false), ("warn", true)] {
        let bench = Bench::new(&format!(
            "[[custom_hooks]]\ntype = \"FaultyRole\"\npanics = {panics}\non_error = \"{policy}\"\n"
        ));
        let (ran, run) = bench.train("run", &[]);
        let verb = if panics { "panicked" } else { "failed" };
        let at = format!(
            "hook `FaultyRole` (libfaulty.so) {verb} at on_optimizer_step, epoch 1, iteration 1: "
        );
        ran.expect(5).says(&[&at, &format!("the role {verb} on purpose")]);
        assert_eq!(run.record()["outcome"], "failed");
    }
}

#[test]
fn a_metric_that_fails_or_panics_is_named_with_its_point() {
    for (panics, verb) in [("true", "panicked"), ("false", "failed")] {
        let bench = Bench::new(&format!(
            "[[metrics]]\ntype = \"FaultyMetric\"\nname = \"m\"\npanics = {panics}\n"
        ));
        let says = format!("`m` (libfaulty.so) {verb} at after_val_iter, epoch 1, iteration 2: ");
        bench
            .train("run", &[])
            .0
            .expect(4)
            .says(&[&says, &format!("the metric {verb} on purpose")]);
    }
}

#[test]
fn settings_that_only_the_hook_can_refuse_are_refused_with_code_2_before_training() {
    for (colour, why) in
        [("blue", "`blue` is not a colour"), ("panic", "the settings panicked on purpose")]
    {
        let bench = Bench::new(&format!(
            "[[custom_hooks]]\ntype = \"Picky\"\nname = \"p\"\ncolour = \"{colour}\"\n"
        ));
        for command in ["check", "train"] {
            let ran = bench.run([command, "config.toml"]);
            ran.expect(2).says(
                &["hook `p` (libfaulty.so) could not be created: ", "colour", why]
                    .map(|part| if colour == "panic" && part == "colour" { why } else { part }),
            );
        }
    }
    Bench::new(&hook("Picky", "colour = 'red'")).run(["check", "config.toml"]).expect(0);
}

#[test]
fn a_second_failure_never_masks_the_first() {
    for then_at in ["after_train", "after_run", "on_detach", "on_exception"] {
        let settings = format!(
            "at = \"after_train_iter\"\nhow = \"error\"\nthen_at = \"{then_at}\"\non_error = \"abort\""
        );
        let bench = bench(&settings);
        let (ran, run) = bench.train("run", &[]);
        ran.expect(4)
            .says(&["failed at after_train_iter, epoch 1, iteration 1: it failed on purpose"]);
        ran.says(&[&format!("failed at {then_at}, epoch 1, iteration 1: a second failure")]);
        assert!(ran.stderr.trim_end().ends_with("it failed on purpose"), "{}", ran.stderr);
        assert!(run.record()["why"].as_str().unwrap().ends_with("it failed on purpose"));
    }
}

#[test]
fn a_failure_at_the_end_alone_fails_the_run() {
    for at in ["after_train", "after_run", "on_detach"] {
        let bench = bench(&format!("at = \"{at}\"\nhow = \"panic\"\non_error = \"abort\""));
        let (ran, run) = bench.train("run", &[]);
        ran.expect(4).says(&[
            &format!("panicked at {at}, epoch 2, iteration 4: "),
            "it panicked on purpose",
        ]);
        assert_eq!(run.record()["outcome"], "failed");
    }
}

#[test]
fn reading_what_is_not_there_at_a_point_is_an_error_and_not_a_crash() {
    let bench = bench("at = \"before_train\"\nhow = \"bad_handle\"\non_error = \"abort\"");
    bench
        .train("run", &[])
        .0
        .expect(4)
        .says(&["failed at before_train", "no label is available at this point"]);
}

/// State that a checkpoint cannot store, and the error for it.
const UNUSUAL: [(&str, &str, &str); 3] = [
    ("sparse", "tensor", "dense"),
    ("complex", "tensor", "ComplexFloat"),
    ("deep", "deep", "nested more than 100 levels deep"),
];

#[test]
fn a_state_that_no_checkpoint_can_keep_is_that_hooks_failure_under_its_policy() {
    for (what, key, why) in UNUSUAL {
        let bench = Bench::new(&format!(
            "[[custom_hooks]]\ntype = \"Keeper\"\nname = \"keeper\"\nwhat = \"{what}\"\n"
        ));
        let words = format!("hook `keeper` could not save its state: `{key}` cannot be saved: ");
        for (policy, then) in [("disable", "it is disabled"), ("warn", "it stays enabled")] {
            let policy = format!("custom_hooks.keeper.on_error={policy}");
            let (ran, run) = bench.train(then.rsplit(' ').next().unwrap(), &[&policy]);
            ran.expect(0).says(&[&words, why, then, "the checkpoint is written without its state"]);
            // The written checkpoint can be read, lists what is missing, and can be resumed from.
            assert_eq!(run.checkpoints(), ["iter_0000002", "iter_0000004"]);
            let name = run.path.file_name().unwrap().to_str().unwrap().to_owned();
            let path = format!("{name}/checkpoints/iter_0000002");
            bench
                .run(["inspect", &path])
                .expect(0)
                .prints(&["state of    keeper: could not be saved"]);
            let more = ["--resume", "train.max_epochs=3", &policy];
            let (ran, run) = bench.train(&name, &more);
            ran.expect(0);
            assert_eq!(run.record()["iter"], 6);
        }
        let (ran, run) = bench.train("aborted", &["custom_hooks.keeper.on_error=abort"]);
        ran.expect(6).says(&[&words, why]);
        assert_eq!(run.checkpoints(), [""; 0], "nothing is written that cannot be read");
    }
}

#[test]
fn a_hook_that_ignores_an_error_while_saving_its_state_has_still_failed() {
    let bench = Bench::new(&hook("Keeper", "name = 'keeper'\nwhat = 'sparse'\ncareless = true"));
    let (ran, run) = bench.train("run", &["custom_hooks.keeper.on_error=warn"]);
    ran.expect(0)
        .says(&["`tensor` cannot be saved", "the checkpoint is written without its state"]);
    let (ran, _) = bench.train("run", &["--resume", "train.max_epochs=3"]);
    ran.expect(0).says(&["hook `keeper` starts without state: it could not save it"]);
    assert_eq!(run.record()["iter"], 6);
}

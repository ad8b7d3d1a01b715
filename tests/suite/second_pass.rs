//! What hooks do to gradients and to each other's roles: rows with places that are empty, a second backward pass within an
//! iteration, a forward pass that another hook holds the role of.

use crate::workbench::{Bench, hook};
use crate::workshop::compile_c;

/// A hook that steps by the gradient of a second pass, and fails where that is not the gradient of the first.
fn second(by: &str, tolerance: &str, more: &str) -> String {
    format!(
        "[[custom_hooks]]\ntype = \"SecondPass\"\nby = \"{by}\"\ntolerance = {tolerance}\n{more}\n"
    )
}

const FOCAL: &str = "[[custom_hooks]]\ntype = \"FocalLossHook\"\n";
const SAM: &str = "[[custom_hooks]]\ntype = \"SamHook\"\n";

/// Gradients of floats that are added up in another order: some hundred roundings.
const FLOATS: &str = "1e-5";
/// Gradients of half floats, in which each of a few dozen roundings is one of 2^11.
const HALVES: &str = "0.05";

#[test]
fn gradients_that_were_asked_for_too_early_are_there_once_they_are() {
    let early = "[[custom_hooks]]\ntype = \"EarlyGrads\"\n[[custom_hooks]]\ntype = \"GradNormC\"\n";
    let bench = Bench::new(early);
    for (frozen, absent) in [("[]", 0.0), ("['layers.0.*']", 2.0)] {
        let freeze = format!("train.freeze={frozen}");
        let run = bench.trained(&format!("absent_{absent}"), &[&freeze]);
        let [rust, c, found] = ["EarlyGrads/norm", "GradNormC/grad_norm", "EarlyGrads/absent"]
            .map(|name| run.scalar(&format!("hook/{name}")));
        assert!(rust > 0.0 && (rust - c).abs() < 1e-5 * rust, "{rust} in Rust, {c} in C");
        assert!((found - absent).abs() < 1e-9, "{found} gradients are absent, not {absent}");
    }
}

#[test]
fn a_second_pass_has_the_gradient_of_the_whole_batch_however_it_is_cut() {
    for by in ["train_forward", "forward"] {
        let bench = Bench::new(&second(by, FLOATS, ""));
        for parts in ["1", "3", "4"] {
            bench.trained(parts, &[&format!("train.accumulation={parts}")]);
        }
    }
    Bench::new(&second("train_forward", FLOATS, "adds = true")).trained("run", &[]);
}

#[test]
fn a_second_pass_in_fp16_has_gradients_of_true_size() {
    for more in ["", "adds = true"] {
        let bench = Bench::new(&second("train_forward", HALVES, more));
        for parts in ["1", "4"] {
            let parts_of = format!("train.accumulation={parts}");
            let run = bench.trained(parts, &["train.precision=fp16", &parts_of]);
            assert!(run.scalar("train/skipped_steps").abs() < 1e-9);
        }
    }
}

#[test]
fn a_second_pass_in_fp16_that_is_not_finite_skips_the_step_once() {
    let bench = Bench::new(&second("train_forward", HALVES, "overflows = true"));
    let run = bench.trained("run", &["train.precision=fp16"]);
    assert!((run.scalar("train/skipped_steps") - 4.0).abs() < 1e-9, "one for each iteration");
    // Each of the three before the last iteration has halved it.
    assert!((run.scalar("train/loss_scale") - 65536.0 / 8.0).abs() < 1e-9);
    let weights: Vec<_> = run.series("hook/SecondPass/weights");
    let bits: Vec<_> = weights.iter().copied().map(f64::to_bits).collect();
    assert!(!bits.is_empty() && bits.iter().all(|one| *one == bits[0]), "{weights:?}");
}

#[test]
fn the_gradient_of_a_second_pass_is_clipped_like_that_of_the_first() {
    let bench = Bench::new(&second("train_forward", "1e9", ""));
    let run = bench.trained("run", &["train.clip_grad_norm=0.01"]);
    let norm = run.scalar("hook/SecondPass/stepped_by");
    assert!((norm - 0.01).abs() < 1e-6, "{norm}");
}

/// With gamma = 0 the focal loss is cross entropy, so the weights are the same whichever hook has the role.
#[test]
fn a_second_pass_runs_the_hook_that_holds_the_forward_role() {
    let sgd = ["optimizer.type=SGD", "optimizer.lr=0.5", "custom_hooks.0.rho=0.5"];
    let weights = |bench: &Bench, name: &str, more: &[&str]| {
        let all: Vec<_> = sgd.iter().chain(more).copied().collect();
        let run = bench.trained(name, &all);
        run.model(4).remove("layers.0.weight").unwrap()
    };
    let far =
        |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
    let main = weights(&Bench::new(SAM), "run", &[]);
    let composed = Bench::without_loss(&format!("{SAM}{FOCAL}"));
    let cross_entropy = weights(&composed, "plain", &["custom_hooks.1.gamma=0"]);
    let focal = weights(&composed, "focal", &[]);
    let usual = weights(&Bench::new(SAM), "usual", &["custom_hooks.0.rho=0"]);
    assert!(far(&main, &cross_entropy) < 1e-5, "{main:?}\n{cross_entropy:?}");
    assert!(far(&main, &focal) > 1e-4, "the other loss has another gradient in both passes");
    assert!(far(&main, &usual) > 1e-4, "the second pass is made elsewhere");
    let bench = Bench::new("");
    let plain = bench.trained("run", &sgd[..2]);
    let plain = plain.model(4);
    assert!(
        far(&usual, &plain["layers.0.weight"]) < 1e-5,
        "at no distance it is training as usual"
    );
}

#[test]
fn a_second_pass_that_goes_around_the_forward_role_is_refused_with_both_names() {
    let bench = Bench::without_loss(&format!("{}{FOCAL}", second("forward", FLOATS, "")));
    bench.train("run", &[]).0.expect(5).says(&[
        "hook `SecondPass` (libgallery.so) failed at on_optimizer_step",
        "forward() by `SecondPass` would bypass `FocalLossHook` (libroles.so)",
        "on_iter_forward",
        "call train_forward()",
    ]);
}

#[test]
fn the_forward_role_does_not_run_itself_nor_in_another_phase() {
    let own = "[[custom_hooks]]\ntype = \"OwnForward\"\nin_role = ";
    let bench = Bench::new(&format!("{own}true\n"));
    let words = ["`OwnForward`", "failed at on_train_forward", "is itself being called"];
    bench.train("run", &[]).0.expect(5).says(&words);
    let bench = Bench::new(&format!("{own}false\n"));
    let words = [
        "`OwnForward`",
        "failed at after_val_iter",
        "train_forward() is only available in training",
    ];
    bench.train("run", &[]).0.expect(4).says(&words);
}

#[test]
fn a_failure_of_the_hook_that_is_run_names_it_and_the_one_that_ran_it() {
    let role = "[[custom_hooks]]\ntype = \"OwnForward\"\nin_role = false\nfails_at = 2\n";
    let bench = Bench::new(&format!("{}{role}", second("train_forward", FLOATS, "")));
    // The loop's own pass is the first call, the second pass of the same iteration the other.
    bench.train("run", &[]).0.expect(5).says(&[
        "hook `SecondPass` (libgallery.so) failed at on_optimizer_step",
        "hook `OwnForward`",
        "call 2 went wrong",
    ]);
}

#[test]
fn what_a_role_alone_may_set_is_refused_to_others_by_their_own_name() {
    for (setting, what) in [("true", "loss"), ("false", "output")] {
        let bench =
            Bench::new(&format!("[[custom_hooks]]\ntype = \"Meddler\"\nloss = {setting}\n"));
        bench.train("run", &[]).0.expect(4).says(&[
            "hook `Meddler` (libgallery.so) failed at after_forward",
            &format!("the {what} cannot be set at after_forward: only a role"),
        ]);
    }
}

#[test]
fn a_status_that_a_role_hands_on_comes_with_the_host_s_reason() {
    let bench = Bench::new(&hook("HandedOn", ""));
    compile_c("handed_on", &bench.path("plugins/libhanded_on.so"), &["-shared"]);
    bench.trained("run", &[]);
    let ran = bench.run(["predict", "config.toml", "--checkpoint", "run"]);
    ran.expect(5).says(&["`HandedOn`", "on_pred_forward", "label"]);
    assert!(!ran.stderr.contains("it gave no reason;"), "{}", ran.stderr);
}

#[test]
fn pictures_and_histograms_of_any_kind_of_number_are_shown() {
    let bench = Bench::new(&hook("Uint16Gallery", ""));
    bench.trained("run", &[]);
}

#[test]
fn what_is_logged_while_state_is_saved_or_loaded_goes_under_the_hook_s_own_name() {
    let talker = |name: &str| {
        format!("[[custom_hooks]]\ntype = \"Talker\"\nname = \"{name}\"\nwords = \"{name}'s\"\n")
    };
    let bench = Bench::new(&format!("{}{}", talker("first"), talker("second")));
    let run = bench.trained("run", &[]);
    let log = run.text("log.txt");
    for name in ["first", "second"] {
        assert!(log.contains(&format!("{name}: saves {name}'s")), "{log}");
    }
    bench.trained("run", &["--resume", "train.max_epochs=3"]);
    let log = run.text("log.txt");
    for name in ["first", "second"] {
        assert!(log.contains(&format!("{name}: loads {name}'s")), "{log}");
    }
}

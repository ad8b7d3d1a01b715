//! What an author writes: tensors with methods and operators, batches changed before they are used, losses in parts.

use crate::workbench::{Bench, hook};
use hookrack_plugin_api::testing::FakeTrainer;

#[test]
fn every_method_of_a_tensor_gives_the_numbers_that_pytorch_does() {
    Bench::new(&hook("TensorMethods", "")).trained("run", &[]);
}

/// A line of operator cases: everything but its numbers, and these.
fn parsed(line: &str) -> (&str, Vec<f64>) {
    let (what, numbers) = line.rsplit_once('|').unwrap();
    (what, numbers.split_whitespace().map(|number| number.parse().unwrap()).collect())
}

/// In doubles: a few roundings apart, or both no plain number.
fn is_same(real: &[f64], fake: &[f64]) -> bool {
    let near = |a: f64, b: f64| (a - b).abs() <= 1e-13 * a.abs().max(1.0);
    let same = |(a, b): (&f64, &f64)| {
        a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan()) || near(*a, *b)
    };
    real.len() == fake.len() && real.iter().zip(fake).all(same)
}

#[test]
fn every_operator_behind_a_method_gives_the_same_in_the_fake_trainer_and_in_libtorch() {
    assert_eq!(gallery::operator_cases::missing(), [], "add calls of these to operator_cases.rs");
    let bench = Bench::new(&hook("OperatorTable", "file = 'operators'"));
    bench.trained("run", &[]);
    let real = bench.read("operators");
    let fake = FakeTrainer::new().with(|t| gallery::operator_cases::lines(t)).unwrap();
    let real: Vec<_> = real.lines().map(parsed).collect();
    let fake: Vec<_> = fake.iter().map(|line| parsed(line)).collect();
    assert!(real.len() > 200, "{} lines", real.len());
    let differences: Vec<_> = real
        .iter()
        .filter(|(what, numbers)| {
            !fake.iter().any(|(own, fake)| own == what && is_same(numbers, fake))
        })
        .map(|(what, numbers)| {
            let name = what.split('|').next().unwrap();
            let found = fake.iter().filter(|(own, _)| own.starts_with(name));
            format!("{what}: {numbers:?}, in the fake {:?}", found.collect::<Vec<_>>())
        })
        .collect();
    assert!(differences.is_empty(), "{}", differences.join("\n"));
    assert_eq!(real.len(), fake.len(), "the fake gives more than libtorch");
}

/// Plain steps: Adam divides by a gradient's size, and makes a whole step of what rounding leaves of one of 0.
const SGD: [&str; 2] = ["optimizer.type=SGD", "optimizer.lr=0.1"];

#[test]
fn a_batch_that_a_hook_has_changed_is_what_is_trained_on_and_evaluated() {
    let bench = Bench::new(&hook("BatchChanger", ""));
    for parts in ["1", "3"] {
        let accumulation = format!("train.accumulation={parts}");
        let run = bench.trained(parts, &[&SGD[..], &[&accumulation]].concat());
        let of = |name: &str| run.scalar(&format!("hook/BatchChanger/{name}"));
        assert!((of("input") - 2.0).abs() < 1e-6, "the input is doubled");
        assert!(of("labels").abs() < 1e-9 && of("labels_after").abs() < 1e-9, "class 0 alone");
    }
    // The whole batch is changed before it is cut: parts of it make the same weights as all of it at once.
    let weights = |run: &str| {
        crate::workbench::tensors(
            &bench.path(run).join("checkpoints/iter_0000004/model.safetensors"),
        )
        .remove("layers.0.weight")
        .unwrap()
        .1
    };
    let (whole, parts) = (weights("1"), weights("3"));
    let far = whole.iter().zip(&parts).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
    // Four steps of a tenth of gradients of about 1, each a sum of some ten terms, in floats: 4 · 0.1 · 10 · 6e-8.
    assert!(far < 1e-5, "{far}");
}

#[test]
fn a_batch_is_changed_neither_in_its_rows_nor_too_late() {
    let bench = Bench::new(&hook("BatchChanger", "grows = true"));
    bench.train("run", &[]).0.expect(4).says(&[
        "hook `BatchChanger` (libgallery.so) failed at before_iter",
        "the new input has shape [8, 4], but the batch has 4 rows: the number of rows must not change",
    ]);
    let bench = Bench::new(&hook("BatchChanger", "late = true"));
    bench.train("run", &[]).0.expect(4).says(&[
        "failed at after_forward",
        "the input cannot be set at after_forward: the batch can be changed at before_iter",
    ]);
}

#[test]
fn a_loss_in_parts_trains_as_the_whole_and_a_role_changes_parameters_without_recording() {
    let weights = |bench: &Bench| {
        let run = bench.trained("run", &SGD);
        run.model(4).remove("layers.0.weight").unwrap()
    };
    let (halves, whole) = (weights(&Bench::new(&hook("HalfLosses", ""))), weights(&Bench::new("")));
    let far = halves.iter().zip(&whole).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
    assert!(far < 1e-5, "{far}");
    let bench = Bench::new(&hook("HalfLosses", "recorded = true"));
    bench.train("run", &[]).0.expect(5).says(&["HalfLosses", "leaf Variable that requires grad"]);
}

/// At `before_clip_grad` the gradient is that of the whole batch and of true size, however it came about, and what a hook
/// makes of it is what is clipped.
#[test]
fn gradients_before_clipping_are_whole_unscaled_and_clipped_afterwards() {
    let near = |a: f64, b: f64, by: f64| (a - b).abs() <= by * b.abs();
    for more in ["", "twice = true"] {
        let bench = Bench::new(&hook("BeforeClip", more));
        let norms = |name: &str, set: &[&str]| {
            let limit = ["train.clip_grad_norm=0.01", "train.max_iters=1"];
            let run = bench.trained(name, &[&limit, set].concat());
            ["before", "changed", "after"].map(|at| run.scalar(&format!("hook/BeforeClip/{at}")))
        };
        let [before, changed, after] = norms("plain", &[]);
        assert!(before > 0.02, "there is something to clip: {before}");
        assert!(near(changed, 2.0 * before, 1e-5), "{changed} is twice {before}");
        assert!(near(after, 0.01, 1e-4), "{after}");
        for (name, set, by) in
            [("parts", "train.accumulation=3", 1e-5), ("fp16", "train.precision=fp16", 0.05)]
        {
            let found = norms(name, &[set]);
            assert!(near(found[0], before, by) && near(found[1], changed, by), "{name}: {found:?}");
            assert!(near(found[2], 0.01, 1e-3), "{name}: {found:?}");
        }
    }
}

#[test]
fn tensors_of_a_file_or_a_run_are_loaded_and_shared_between_hooks() {
    let still = Bench::new("");
    let run = still.trained("run", &["optimizer.lr=0"]);
    let file = run.path.join("checkpoints/iter_0000004/model.safetensors");
    for path in [file.as_path(), run.path.as_path()] {
        let share = format!("path = \"{}\"", path.display());
        let bench =
            Bench::new(&format!("{}{}", hook("FileSharer", &share), hook("ShareReader", "")));
        bench.trained("run", &[]);
    }
    let bench = Bench::new(&hook("FileSharer", "path = 'missing.safetensors'"));
    bench.check(&[]).expect(2).says(&["on_attach", "missing.safetensors"]);
}

#[test]
fn parameters_are_not_changed_by_way_of_shared_tensors_or_collectives_either() {
    for (by, call) in [
        ("state_tensor", "`aten::mul_.Scalar`"),
        ("broadcast", "broadcast()"),
        ("all_reduce", "all_reduce()"),
    ] {
        let bench = Bench::new(&hook("Trespasser", &format!("by = \"{by}\"")));
        let wanted = format!(
            "{call} would change a parameter or buffer of the model, which the hook does not declare: add \"params\""
        );
        bench.train("run", &[]).0.expect(4).says(&[wanted.as_str()]);
    }
}

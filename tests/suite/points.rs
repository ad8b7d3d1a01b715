//! The points of a run fire in exactly the order that the drawing in `plugin-api/src/point.rs` shows.

use crate::drawing::Drawing;
use crate::workbench::{Bench, hook};
use crate::workshop::repository;
use hookrack_plugin_api::Point;
use hookrack_plugin_api::testing::FakeTrainer;

const RECORDER: &str =
    "[[custom_hooks]]\ntype = \"RoleRecorder\"\nname = \"r\"\nfile = \"calls\"\n";

/// The points of a record, in their order.
fn points(calls: &str) -> Vec<String> {
    calls.lines().map(|line| line.split(' ').nth(1).unwrap().to_owned()).collect()
}

/// `phase epoch iter inner_iter` at each occurrence of a point.
fn places<'a>(calls: &'a str, point: &str) -> Vec<&'a str> {
    let places = calls.lines().filter_map(|line| line.split_once(' ')?.1.split_once(' '));
    places.filter(|(name, _)| *name == point).map(|(_, place)| place).collect()
}

#[test]
fn two_epochs_of_two_iterations_with_validation_and_accumulation() {
    let bench = Bench::new(RECORDER);
    bench.trained("run", &["train.accumulation=2"]);
    let calls = bench.take("calls");
    let expected = Drawing::of_a_run().points(|what| match what {
        "for epoch" | "for iter" | "for micro-batch" | "for batch" => 2,
        "when the scheduler steps by iteration"
        | "when due"
        | "when due, and at the end of training" => 1,
        _ => 0,
    });
    assert_eq!(points(&calls), expected);
    assert_eq!(
        places(&calls, "after_train_iter"),
        ["train 1 1 1", "train 1 2 2", "train 2 3 1", "train 2 4 2"]
    );
    assert_eq!(
        places(&calls, "after_val_iter"),
        ["val 1 2 1", "val 1 2 2", "val 2 4 1", "val 2 4 2"]
    );
    assert_eq!(places(&calls, "after_cycle"), ["train 1 2 2", "train 2 4 2"]);
}

#[test]
fn a_limit_by_iteration_ends_within_an_epoch_and_validation_and_saving_may_be_due_by_iteration() {
    let bench = Bench::new(&format!(
        "{RECORDER}[lr_scheduler]\ntype = \"CosineAnnealingWarmupLR\"\nby_epoch = true\nwarmup_steps = 1\n\
         [default_hooks]\nevaluate = {{ interval = 0, eval_iter_period = 2 }}\n\
         checkpoint = {{ epoch_period = 0, iter_period = 2 }}\n"
    ));
    bench.replace("max_epochs = 2", "max_iters = 3");
    bench.trained("run", &[]);
    let calls = bench.take("calls");
    let mut iterations = [2, 1].into_iter();
    let expected = Drawing::of_a_run().points(|what| match what {
        "for iter" => iterations.next().unwrap(),
        "for epoch" | "for batch" => 2,
        // Validation and checkpoint are due in the second iteration, the last one of its epoch, where they wait for the
        // epoch's end. In the second epoch the last weights are validated and saved.
        "for micro-batch"
        | "when the scheduler steps by epoch"
        | "when due, and at the end of training"
        | "when due" => 1,
        _ => 0,
    });
    assert_eq!(points(&calls), expected);
    assert_eq!(places(&calls, "after_train_iter"), ["train 1 1 1", "train 1 2 2", "train 2 3 1"]);
}

#[test]
fn eval_runs_the_test_points_and_predict_the_pred_points_inside_a_run() {
    let bench = Bench::new(RECORDER);
    bench.trained("run", &[]);
    bench.take("calls");
    bench.run(["eval", "config.toml", "--checkpoint", "run"]).expect(0);
    let (begin, end) =
        (["on_attach", "before_run", "after_load_checkpoint"], ["after_run", "on_detach"]);
    let inside = |pass: Vec<String>| {
        let pass = pass.iter().map(String::as_str);
        begin.into_iter().chain(pass).chain(end).map(str::to_owned).collect::<Vec<_>>()
    };
    let validation = Drawing::of("VALIDATION").points(|_| 2);
    let test = validation.iter().map(|point| match point.as_str() {
        "on_val_forward" => point.clone(),
        _ => point.replace("_val", "_test"),
    });
    assert_eq!(points(&bench.take("calls")), inside(test.collect()));

    bench.run(["predict", "config.toml", "--checkpoint", "run"]).expect(0);
    let predicted = validation.iter().filter(|point| !point.contains("_eval"));
    let predicted = predicted.map(|point| point.replace("_val", "_pred"));
    assert_eq!(points(&bench.take("calls")), inside(predicted.collect()));
}

/// The names of the points that a fake run reached.
fn fake_points(fake: &FakeTrainer) -> Vec<String> {
    fake.points().iter().map(|point| point.name().to_owned()).collect()
}

#[test]
fn the_fake_trainer_of_plugin_tests_reaches_the_points_of_a_real_run() {
    let bench = Bench::new(RECORDER);
    bench.trained("run", &["train.accumulation=2"]);
    let mut fake = FakeTrainer::new().val_iters(2).micro_batches(2);
    fake.fit(2, 2).unwrap();
    assert_eq!(fake_points(&fake), points(&bench.take("calls")));
    for (command, pass) in [
        ("eval", FakeTrainer::test as fn(&mut FakeTrainer, u64) -> _),
        ("predict", FakeTrainer::predict),
    ] {
        bench.run([command, "config.toml", "--checkpoint", "run"]).expect(0);
        let mut fake = FakeTrainer::new();
        pass(&mut fake, 2).unwrap();
        let mut real = points(&bench.take("calls"));
        // The checkpoint that is evaluated.
        real.retain(|point| point != "after_load_checkpoint");
        assert_eq!(fake_points(&fake), real, "{command}");
    }
}

#[test]
fn the_general_forward_role_serves_every_phase() {
    let bench = Bench::new(&hook("GeneralRecorder", "file = 'calls'"));
    bench.trained("run", &[]);
    let epoch = [
        "on_iter_forward train",
        "on_iter_forward train",
        "on_iter_forward val",
        "on_iter_forward val",
    ];
    let calls = bench.take("calls");
    let forwards =
        calls.lines().map(|line| line.split(' ').skip(1).take(2).collect::<Vec<_>>().join(" "));
    assert_eq!(forwards.collect::<Vec<_>>(), [epoch, epoch].concat());
    bench.run(["predict", "config.toml", "--checkpoint", "run"]).expect(0);
    assert_eq!(places(&bench.take("calls"), "on_iter_forward").len(), 2);
}

#[test]
fn a_hook_runs_as_often_as_every_and_phase_say() {
    let recorder = |name: &str, keys: &str| {
        format!(
            "[[custom_hooks]]\ntype = \"Recorder\"\nname = \"{name}\"\nfile = \"{name}\"\n{keys}\n"
        )
    };
    let bench = Bench::new(
        &[
            recorder("iters", "every = \"3it\""),
            recorder("epochs", "every = \"2ep\""),
            recorder("val", "phase = \"val\""),
        ]
        .concat(),
    );
    bench.trained("run", &[]);
    let seen = |file: &str, point: &str| places(&bench.read(file), point).join(", ");
    assert_eq!(seen("iters", "after_train_iter"), "train 2 3 1");
    assert_eq!(seen("iters", "after_train_epoch"), "train 1 2 2, train 2 4 2");
    assert_eq!(seen("epochs", "after_train_iter"), "train 2 3 1, train 2 4 2");
    assert_eq!(seen("epochs", "after_val"), "val 2 4 2");
    assert_eq!(seen("val", "after_iter"), "val 1 2 1, val 1 2 2, val 2 4 1, val 2 4 2");
    assert_eq!(seen("val", "after_train_iter"), "");
    for brackets in ["iters", "epochs", "val"] {
        assert_eq!(places(&bench.read(brackets), "after_train").len(), 1);
    }
}

/// The boxes of README.md's picture, in their order: `r` and a role, or another class and a point.
fn boxes(picture: &str) -> Vec<(&str, &str)> {
    let boxes = picture.lines().filter_map(|line| {
        let class = line.strip_prefix("<rect class=\"")?.split('"').next()?;
        let name = line.split_once("<text class=\"t\"")?.1.split_once('>')?.1.split('<').next()?;
        Some((class, name))
    });
    boxes.filter(|(_, name)| Point::from_name(name).is_some()).collect()
}

#[test]
fn the_picture_of_the_loop_names_every_point_of_a_training_run_in_order_and_marks_the_roles() {
    let picture = std::fs::read_to_string(repository().join("docs/img/loop.svg")).unwrap();
    let boxes = boxes(&picture);
    // Each loop once, the schedule at both places, validation and checkpoint where the epoch ends.
    let mut expected = Drawing::of_a_run().points(|what| {
        let elsewhere = what.starts_with("when due by iteration") || what == "when the run failed";
        usize::from(!elsewhere)
    });
    // It may come at any moment, and stands below the picture.
    expected.push("on_exception".to_owned());
    let names: Vec<_> = boxes.iter().map(|(_, name)| *name).collect();
    assert_eq!(names, expected);
    for (class, name) in boxes {
        let is_role = Point::from_name(name).unwrap().is_role();
        assert_eq!(class == "r", is_role, "{name} is drawn as `{class}`");
    }
}

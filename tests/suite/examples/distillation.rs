//! `Distillation`: a second model as a teacher.

use super::linear::{CLASSES, FEATURES, Linear, SAMPLES, initial};
use super::{bench, hook};

#[test]
fn distillation_steps_by_the_gradient_towards_the_teacher_and_its_loss_falls() {
    let school = bench("");
    let teacher = school.trained("teacher", &["train.max_epochs=40", "train.seed=5"]);
    let known = Linear::read(&teacher, 40);
    let soft = |model: &Linear, features| {
        let scores: Vec<f64> = model.scores(features).iter().map(|s| (s / 3.0).exp()).collect();
        scores.iter().map(|score| score / scores.iter().sum::<f64>()).collect::<Vec<f64>>()
    };
    // The gradient of T² KL(teacher ‖ student) by a score is T (p - q) for each sample.
    let step = |weights: &Linear| {
        let mut gradient = Linear { rows: vec![[0.0; FEATURES + 1]; CLASSES] };
        for (features, _) in SAMPLES {
            let (own, wanted) = (soft(weights, features), soft(&known, features));
            for class in 0..CLASSES {
                for i in 0..=FEATURES {
                    let x = features.get(i).unwrap_or(&1.0);
                    gradient.rows[class][i] += 3.0 * (own[class] - wanted[class]) / 6.0 * x;
                }
            }
        }
        weights.plus(&gradient, -0.5)
    };
    let weights = teacher.path.join("checkpoints/iter_0000040/model.safetensors");
    let table = format!(
        "temperature = 3.0\nalpha = 1.0\nteacher = {{ type = \"MLP\", hidden = [], weights = \"{}\" }}",
        weights.display()
    );
    let bench = bench(&hook("Distillation", &table));
    let run = bench.trained("run", &["default_hooks.logger={interval=1}"]);
    let wanted = (0..4).fold(initial(), |weights, _| step(&weights));
    Linear::read(&run, 4).assert_near(&wanted);
    let losses: Vec<f64> = run.series("train/loss");
    assert!(losses.windows(2).all(|pair| pair[1] < pair[0]) && losses.len() > 2, "{losses:?}");
}

#[test]
fn a_teacher_that_cannot_be_built_is_found_before_training() {
    for (teacher, says) in [
        ("{ type = \"MPL\" }", "`MPL`"),
        (
            "{ type = \"MLP\", hidden = [], weights = \"nowhere.safetensors\" }",
            "nowhere.safetensors",
        ),
        ("{ type = \"MLP\", width = 3 }", "width"),
    ] {
        let bench = bench(&hook("Distillation", &format!("teacher = {teacher}")));
        let ran = bench.check(&[]);
        ran.expect(2).says(&["hook `Distillation` (libdistillation.so) failed at on_attach", says]);
    }
    for (teacher, says) in [
        ("3", "`custom_hooks.0.teacher` must be a table like `[model]`"),
        ("{ type = \"MLP\", weights = 3 }", "`custom_hooks.0.teacher.weights` must be a path"),
    ] {
        let bench = bench(&hook("Distillation", &format!("teacher = {teacher}")));
        bench.check(&[]).expect(2).says(&[says, "config.toml:"]);
    }
}

#[test]
fn a_teacher_s_weights_are_found_from_the_folder_of_the_config() {
    let teacher =
        "teacher = { type = \"MLP\", hidden = [], weights = \"school/teacher.safetensors\" }";
    let bench = bench(&hook("Distillation", teacher));
    let school = super::bench("");
    let plain = school.trained("teacher", &[]);
    std::fs::create_dir(bench.path("school")).unwrap();
    let weights = plain.path.join("checkpoints/iter_0000004/model.safetensors");
    std::fs::copy(weights, bench.path("school/teacher.safetensors")).unwrap();
    let elsewhere = tempfile::tempdir().unwrap();
    let config = bench.path("config.toml");
    let config = config.to_str().unwrap();
    crate::workbench::run_in(elsewhere.path(), ["check", config]).expect(0);
    bench.check(&[]).expect(0);
    std::fs::remove_file(bench.path("school/teacher.safetensors")).unwrap();
    bench.check(&[]).expect(2).says(&["school/teacher.safetensors"]);
}

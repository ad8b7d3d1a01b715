//! The SWA plugin: equal weights over the last epochs, a held rate, swapped in for evaluations and back.

use crate::workbench::Bench;

#[test]
fn the_average_has_equal_weights_and_the_rate_is_held() {
    let bench = Bench::new(
        "[[custom_hooks]]\ntype = \"SWAHook\"\nname = \"swa\"\nstart = 0.5\nlr = 0.25\nanneal_epochs = 1\n\
         [lr_scheduler]\ntype = \"StepLR\"\n",
    );
    let run = bench.trained("run", &["-s", "train.max_epochs=4"]);
    assert!((run.scalar("train/lr") - 0.25).abs() < 1e-12);
    let models =
        [6, 8].map(|iter| run.tensors(&format!("checkpoints/iter_{iter:07}/model.safetensors")));
    let average = run.tensors("swa.safetensors");
    for (name, values) in &average {
        for ((value, first), second) in values.iter().zip(&models[0][name]).zip(&models[1][name]) {
            assert!((value - f32::midpoint(*first, *second)).abs() < 1e-6, "{name}");
        }
    }
    // What is evaluated is the average, what is trained and saved is not.
    let without = Bench::new("[lr_scheduler]\ntype = \"StepLR\"\n");
    let plain = without.trained("run", &["-s", "train.max_epochs=2"]);
    let first = run.tensors("checkpoints/iter_0000004/model.safetensors");
    assert_eq!(first, plain.tensors("checkpoints/iter_0000004/model.safetensors"));
}

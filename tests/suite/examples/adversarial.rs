//! `AdversarialTraining`: gradients with respect to the input.

use super::linear::{CLASSES, FEATURES, Linear, initial};
use super::{bench, hook};

/// The sample moved by 0.1 in each feature, to where the loss is higher.
fn uphill(weights: &Linear, features: [f64; FEATURES], label: usize) -> [f64; FEATURES] {
    let p = weights.probabilities(features);
    std::array::from_fn(|i| {
        let error = |class: usize| p[class] - f64::from(u8::from(class == label));
        let slope: f64 = (0..CLASSES).map(|class| error(class) * weights.rows[class][i]).sum();
        features[i] + 0.1 * slope.signum()
    })
}

#[test]
fn adversarial_training_steps_by_the_gradient_at_inputs_that_were_moved_uphill() {
    let step = |weights: Linear| {
        let gradient = weights.gradient_at(|features, label| uphill(&weights, features, label));
        weights.plus(&gradient, -0.5)
    };
    let wanted = (0..4).fold(initial(), |weights, _| step(weights));
    let bench = bench(&hook("AdversarialTraining", "epsilon = 0.1"));
    for (name, sets) in [
        ("whole", vec!["train.accumulation=1"]),
        ("parts", vec!["train.accumulation=3"]),
        ("graph", vec!["train.mode=graph"]),
    ] {
        Linear::read(&bench.trained(name, &sets), 4).assert_near(&wanted);
    }
    wanted.assert_far(&(0..4).fold(initial(), |weights, _| weights.step()));
}

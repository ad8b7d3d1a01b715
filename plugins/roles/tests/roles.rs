//! The hooks that take roles, without a host.

use hookrack_plugin_api::testing::FakeTrainer;
use hookrack_plugin_api::{Result, settings};
use roles::focal_loss::FocalLoss;
use roles::iter_rule::IterRule;
use roles::sam::Sam;

#[test]
fn without_gamma_the_focal_loss_is_cross_entropy() -> Result<()> {
    let mut t = FakeTrainer::new()
        .output([[2.0, 0.0], [0.0, 1.0]])
        .label([0_i64, 1])
        .hook::<FocalLoss>(settings! { gamma = 0.0 })?;
    t.fire(hookrack_plugin_api::Point::OnTrainForward)?;
    assert!(t.current_loss().is_some_and(|loss| (loss - 0.220_094_85).abs() < 1e-6));
    Ok(())
}

#[test]
fn the_rule_sets_the_rate_for_the_iteration_that_comes() -> Result<()> {
    let mut t = FakeTrainer::new().lr(1.0).hook::<IterRule>(settings! { warmup_iters = 4 })?;
    t.fit(1, 3)?;
    assert!((t.with(|t| t.lr()) - 1.0).abs() < 1e-12);
    Ok(())
}

#[test]
fn sam_steps_by_the_gradient_uphill_and_leaves_the_weights_where_they_were() -> Result<()> {
    // Half the square of w: its gradient is w.
    let mut t = FakeTrainer::new()
        .param("w", [2.0])
        .lr(1.0)
        .gradient(|params| Ok(vec![params[0].copy()]))
        .hook::<Sam>(settings! { rho = 0.5 })?;
    t.train_iter()?;
    assert!((t.weights("w")?[0] + 0.5).abs() < 1e-6, "{:?}", t.weights("w")?);
    Ok(())
}

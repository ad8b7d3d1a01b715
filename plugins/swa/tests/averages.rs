//! `SWAHook` through the points of a run, without a host.

use hookrack_plugin_api::Result;
use hookrack_plugin_api::settings;
use hookrack_plugin_api::testing::{FakeTensor, FakeTrainer};
use swa::hook::SwaHook;

#[test]
fn the_last_epochs_count_alike_at_the_rate_that_is_held() -> Result<()> {
    let settings = settings! { start = 2.0, lr = 0.5, anneal_epochs = 0, update_norms = false };
    let mut t = FakeTrainer::new()
        .param("w", [8.0])
        .grad("w", [1.0])
        .lr(1.0)
        .run_dir("run")
        .hook::<SwaHook>(settings)?;
    t.fit(3, 1)?;
    // 7 after the first epoch; then by halves: 6.5 and 6, which are averaged.
    assert_eq!(t.weights("w")?, [6.0]);
    let file = t.file("SwaHook.safetensors").unwrap_or_default();
    assert_eq!(file.iter().map(|(_, tensor)| tensor.values()).collect::<Vec<_>>(), [[6.25]]);
    Ok(())
}

#[test]
fn a_resumed_run_continues_with_the_average_and_the_rate() -> Result<()> {
    let trainer = || {
        let settings = settings! { start = 1.0, lr = 0.5, anneal_epochs = 4, update_norms = false };
        FakeTrainer::new().param("w", [8.0]).grad("w", [1.0]).lr(1.0).hook::<SwaHook>(settings)
    };
    let (mut whole, mut first, mut second) = (trainer()?, trainer()?, trainer()?);
    whole.fit(4, 2)?;
    first.fit(2, 2)?;
    second.resume(&first.save_state()?)?;
    second.fit(4, 2)?;
    let average = |t: &FakeTrainer| -> Result<_> {
        Ok(t.save_state()?.states["SwaHook"].tensor("average.w").map(FakeTensor::values))
    };
    assert_eq!(second.weights("w")?, whole.weights("w")?);
    assert_eq!(average(&second)?, average(&whole)?);
    Ok(())
}

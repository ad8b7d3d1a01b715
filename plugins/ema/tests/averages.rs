//! `EMAIterHook` and `EMAEpochHook` through the points of a run, without a host.

use ema::epoch_hook::EmaEpoch;
use ema::iter_hook::EmaIter;
use hookrack_plugin_api::prelude::*;
use hookrack_plugin_api::settings;
use hookrack_plugin_api::testing::{FakeTensor, FakeTrainer};
use std::cell::Cell;
use std::rc::Rc;

/// One weight that each iteration makes smaller by 1.
fn trainer() -> FakeTrainer {
    FakeTrainer::new().param("w", [8.0]).grad("w", [1.0]).lr(1.0)
}

/// Fails in the first batch of a validation, and writes down the weights around it.
#[derive(Settings)]
struct Breaks {
    point: String,
}

#[hook(level = LOWEST)]
impl Hook for Breaks {
    fn after_val_iter(&mut self, t: &mut Trainer) -> Result<()> {
        t.put_scalar("weight", t.params().norm()?.item()?)?;
        ensure!(self.point != "after_val_iter", "no validation today");
        Ok(())
    }

    fn on_exception(&mut self, t: &mut Trainer) -> Result<()> {
        t.put_state("after", t.params().norm()?.item()?)
    }
}

#[test]
fn the_average_evaluates_and_the_model_s_own_weights_come_back() -> Result<()> {
    let settings = settings! { momentum = 0.5, warmup = false };
    let mut t = trainer().hook::<EmaIter>(settings)?.hook::<Breaks>(settings! { point = "" })?;
    t.fit(1, 3)?;
    // 7, then half way to 6, then half way to 5.
    assert_eq!(t.scalar("val/weight"), Some(5.75));
    assert_eq!(t.weights("w")?, [5.0]);
    Ok(())
}

#[test]
fn a_validation_that_fails_leaves_the_model_s_own_weights() -> Result<()> {
    let settings = settings! { momentum = 0.5, warmup = false };
    let mut t = trainer()
        .hook::<EmaIter>(settings)?
        .hook::<Breaks>(settings! { point = "after_val_iter" })?;
    assert!(t.fit(1, 3).is_err());
    assert_eq!((t.weights("w")?, t.state("after")), (vec![5.0], Some(Value::from(5.0))));
    Ok(())
}

#[test]
fn the_average_of_epochs_moves_once_in_each_and_begins_where_it_is_reported() -> Result<()> {
    let settings = settings! { momentum = 0.5, warmup = false, begin_epoch = 2 };
    let mut t = trainer().run_dir("run").hook_as::<EmaEpoch>("average", settings)?;
    t.fit(3, 1)?;
    // After the second epoch 6, after the third half way to 5.
    let file = t.file("average.safetensors").unwrap_or_default();
    assert_eq!(file.iter().map(|(_, tensor)| tensor.values()).collect::<Vec<_>>(), [[5.5]]);
    Ok(())
}

#[test]
fn only_the_first_of_two_averages_is_evaluated() -> Result<()> {
    let settings = || settings! { momentum = 0.5, warmup = false };
    let mut t = trainer()
        .hook_as::<EmaIter>("first", settings())?
        .hook_as::<EmaIter>("second", settings())?;
    t.fit(1, 1)?;
    let said = t.logs();
    assert!(
        said.iter()
            .any(|line| line.hook == "second" && line.message.starts_with("`first` evaluates"))
    );
    assert_eq!(t.state("evaluation_weights"), None);
    Ok(())
}

#[test]
fn an_average_of_a_checkpoint_moves_to_the_device_of_the_weights_once() -> Result<()> {
    let averaged = || trainer().hook::<EmaIter>(settings! { momentum = 0.5, warmup = false });
    let mut t = averaged()?;
    t.fit(1, 2)?;
    let saved = t.save_state()?;
    let moves = Rc::new(Cell::new(0));
    let seen = Rc::clone(&moves);
    let mut resumed = averaged()?.op("aten::to.dtype_layout", move |args| {
        seen.set(seen.get() + 1);
        Ok(vec![args.tensor(0)?.clone().into()])
    });
    resumed.resume(&saved)?;
    resumed.fit(2, 2)?;
    assert_eq!(moves.get(), 1);
    // 7, then half way to 6, to 5 and to 4.
    let state = resumed.save_state()?.states["EmaIter"].clone();
    assert_eq!(state.tensor("average.w").map(FakeTensor::values), Some(vec![4.875]));
    Ok(())
}

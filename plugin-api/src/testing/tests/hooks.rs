//! What hooks see and do, through the fake trainer.

use crate::prelude::*;
use crate::settings;
use crate::testing::FakeTrainer;

/// Averages the weights, counts its updates, and keeps both.
#[derive(Deserialize)]
struct Ema {
    #[param(default = 0.5, min = 0.0, max = 1.0)]
    momentum: f64,
    #[serde(skip)]
    average: WeightAverage,
}

#[hook(level = LOW, mutates = "params")]
impl Hook for Ema {
    fn after_train_iter(&mut self, t: &mut Trainer) -> Result<()> {
        self.average.update(t, 1.0 - self.momentum)
    }
    fn before_eval(&mut self, t: &mut Trainer) -> Result<()> {
        self.average.swap_in(t)
    }
    fn after_eval(&mut self, t: &mut Trainer) -> Result<()> {
        self.average.swap_out(t)
    }
    fn after_train(&mut self, t: &mut Trainer) -> Result<()> {
        self.average.export(t)
    }
    fn save_state(&self, state: &mut StateWriter<'_>) -> Result<()> {
        self.average.save(state)
    }
    fn load_state(&mut self, state: &StateReader<'_>) -> Result<()> {
        self.average.load(state)
    }
}

/// Says what it sees.
#[derive(Deserialize)]
struct Talker {}

#[hook]
impl Hook for Talker {
    fn on_attach(&mut self, t: &mut Trainer) -> Result<()> {
        t.put_state("who", t.instance())
    }
    fn after_train_iter(&mut self, t: &mut Trainer) -> Result<()> {
        info!("loss {}", t.loss()?.item()?);
        t.put_scalar("@norm", t.grads().norm()?.item()?)?;
        t.scoped("head", |t| t.put_scalar("loss", t.loss()?.item()?))?;
        if t.iter() == 3 { t.request_stop("enough") } else { Ok(()) }
    }
    fn after_val_iter(&mut self, t: &mut Trainer) -> Result<()> {
        t.put_scalar("rows", t.loss_weight()?)
    }
}

fn ema() -> FakeTrainer {
    FakeTrainer::new()
        .param("w", [1.0, 2.0])
        .grad("w", [1.0, -1.0])
        .lr(0.5)
        .hook::<Ema>(settings! {})
        .unwrap()
}

#[test]
fn an_average_follows_the_weights_is_lent_to_evaluations_and_is_exported() {
    let mut t = ema().run_dir("run");
    t.train_iter().unwrap();
    assert_eq!(t.weights("w").unwrap(), [0.5, 2.5]);
    t.train_iter().unwrap();
    assert_eq!(t.weights("w").unwrap(), [0.0, 3.0]);
    t.fire(Point::BeforeEval).unwrap();
    assert_eq!(t.weights("w").unwrap(), [0.25, 2.75]);
    t.fire(Point::AfterEval).unwrap();
    assert_eq!(t.weights("w").unwrap(), [0.0, 3.0]);
    t.fire(Point::AfterTrain).unwrap();
    let file = t.file("Ema.safetensors").unwrap();
    assert_eq!((file[0].0.as_str(), file[0].1.values()), ("w", vec![0.25, 2.75]));
    assert_eq!(
        t.logs().last().unwrap().message,
        "wrote the average of 2 updates to Ema.safetensors"
    );
}

#[test]
fn a_resumed_run_has_the_numbers_of_one_that_went_through() {
    let mut whole = ema();
    whole.fit(3, 2).unwrap();
    let mut first = ema();
    first.fit(2, 2).unwrap();
    let saved = first.checkpoint().unwrap().clone();
    assert_eq!((saved.epoch, saved.iter), (2, 4));
    let mut second = ema();
    second.resume(&saved).unwrap();
    second.fit(3, 2).unwrap();
    assert_eq!(second.weights("w").unwrap(), whole.weights("w").unwrap());
    let average = |t: &FakeTrainer| {
        t.checkpoint().unwrap().states["Ema"].tensor("average.w").unwrap().values()
    };
    assert_eq!(average(&second), average(&whole));
}

#[test]
fn what_a_hook_says_is_there_to_be_asserted_on() {
    let mut t = FakeTrainer::new()
        .param("w", [3.0, 4.0])
        .grad("w", [3.0, 4.0])
        .input([[1.0, 1.0], [1.0, 1.0]])
        .loss(0.25)
        .hook::<Talker>(settings! {})
        .unwrap();
    t.fit(2, 2).unwrap();
    assert_eq!(t.state("who"), Some(Value::from("Talker")));
    assert_eq!(
        (t.scalar("hook/Talker/norm"), t.scalar("train/head/loss")),
        (Some(5.0), Some(0.25))
    );
    assert_eq!(t.scalar_values("val/rows"), [2.0]);
    assert_eq!(t.stop_reason().as_deref(), Some("enough"));
    assert_eq!((t.logs()[0].hook.as_str(), t.logs()[0].message.as_str()), ("Talker", "loss 0.25"));
    assert_eq!(t.tensors_held(), 0);
    // Stopped in the middle of the second epoch: no closing points, but a checkpoint.
    let tail = &t.points()[t.points().len() - 5..];
    assert_eq!(
        tail,
        [
            Point::BeforeSaveCheckpoint,
            Point::AfterSaveCheckpoint,
            Point::AfterTrain,
            Point::AfterRun,
            Point::OnDetach
        ]
    );
}

#[test]
fn settings_are_checked_as_a_config_is() {
    let refused = |settings| FakeTrainer::new().hook::<Ema>(settings).err().unwrap().to_string();
    assert_eq!(
        refused(settings! { momentun = 0.5 }),
        "hook `Ema`: unknown key `momentun`: the keys are [\"momentum\"]"
    );
    assert_eq!(
        refused(settings! { momentum = 2.0 }),
        "hook `Ema`: `momentum` is out of range: 2, must be between 0 and 1"
    );
}

#[test]
fn a_tensor_of_an_iteration_that_is_over_is_refused() {
    #[derive(Deserialize)]
    struct Late {
        #[serde(skip)]
        loss: Option<Tensor>,
    }
    #[hook]
    impl Hook for Late {
        fn after_forward(&mut self, t: &mut Trainer) -> Result<()> {
            self.loss = Some(t.loss()?);
            Ok(())
        }
        fn after_train_epoch(&mut self, _t: &mut Trainer) -> Result<()> {
            self.loss.as_ref().map_or(Ok(()), |loss| loss.item().map(drop))
        }
    }
    let mut t = FakeTrainer::new().loss(1.0).hook::<Late>(settings! {}).unwrap();
    let error = t.fit(1, 1).unwrap_err().to_string();
    let expected = "hook `Late` failed at after_train_epoch, epoch 1, iteration 1: the tensor handle is stale: ";
    assert!(error.starts_with(expected), "{error}");
}

#[test]
fn an_older_host_says_which_extension_it_lacks_and_which_version_has_it() {
    #[derive(Deserialize)]
    struct Wants {}
    #[hook(mutates = "grads")]
    impl Hook for Wants {
        fn before_run(&mut self, t: &mut Trainer) -> Result<()> {
            t.set_accumulation(4)
        }
    }
    let mut t = FakeTrainer::new().abi_minor(0).hook::<Wants>(settings! {}).unwrap();
    let error = t.fire(Point::BeforeRun).unwrap_err().to_string();
    assert!(
        error.ends_with(
            "this host (ABI 1.0) does not offer `hookrack.step/1`: use one with ABI 1.1 or later"
        ),
        "{error}"
    );
    let mut t = FakeTrainer::new().hook::<Wants>(settings! {}).unwrap();
    t.fire(Point::BeforeRun).unwrap();
    assert_eq!(t.calls(), ["set_accumulation(4)"]);
}

/// Puts the iteration at which it is called.
#[derive(Settings)]
struct Sparse {}

#[hook(every = "3it")]
impl Hook for Sparse {
    fn before_train(&mut self, t: &mut Trainer) -> Result<()> {
        t.put_scalar("called/run", 0.0)
    }
    fn after_train_epoch(&mut self, t: &mut Trainer) -> Result<()> {
        t.put_scalar("called/epoch", f64::from(u32::try_from(t.epoch())?))
    }
    fn after_train_iter(&mut self, t: &mut Trainer) -> Result<()> {
        t.put_scalar("called/iter", f64::from(u32::try_from(t.iter())?))
    }
    fn after_val_iter(&mut self, t: &mut Trainer) -> Result<()> {
        t.put_scalar("called/val", f64::from(u32::try_from(t.inner_iter())?))
    }
}

fn called(settings: Value) -> Result<[Vec<f64>; 4]> {
    let mut t = FakeTrainer::new().val_iters(4).hook::<Sparse>(settings)?;
    t.fit(2, 4)?;
    Ok(["run", "epoch", "iter", "val"].map(|pace| t.scalar_values(&format!("called/{pace}"))))
}

#[test]
fn a_hook_is_called_as_often_as_its_cadence_or_the_settings_say() {
    let own = called(settings! {}).unwrap();
    assert_eq!(own, [vec![0.0], vec![1.0, 2.0], vec![3.0, 6.0], vec![3.0, 3.0]]);
    let interval = called(settings! { interval = 4 }).unwrap();
    assert_eq!(interval, [vec![0.0], vec![1.0, 2.0], vec![4.0, 8.0], vec![4.0, 4.0]]);
    let every = called(settings! { every = "2ep" }).unwrap();
    let second = vec![5.0, 6.0, 7.0, 8.0];
    assert_eq!(every, [vec![0.0], vec![2.0], second, vec![1.0, 2.0, 3.0, 4.0]]);
    for (settings, word) in [(settings! { every = "3" }, "10it"), (settings! { interval = 0 }, "1")]
    {
        let error = called(settings).unwrap_err().to_string();
        assert!(error.starts_with("hook `Sparse`: ") && error.contains(word), "{error}");
    }
}

#[test]
fn a_point_that_is_fired_alone_honours_the_cadence_too() {
    let mut t = FakeTrainer::new().hook::<Sparse>(settings! {}).unwrap();
    for iter in [2, 3, 4] {
        t.at(1, iter).fire(Point::AfterTrainIter).unwrap();
    }
    assert_eq!(t.scalar_values("called/iter"), [3.0]);
}

#[test]
fn a_role_that_a_cadence_would_skip_is_refused_as_in_the_host() {
    #[derive(Settings)]
    struct Steps {}
    #[hook]
    impl Hook for Steps {
        fn on_optimizer_step(&mut self, t: &mut Trainer) -> Result<()> {
            t.optimizer_step()
        }
    }
    FakeTrainer::new().hook::<Steps>(settings! { every = "1it" }).unwrap();
    let refused = FakeTrainer::new().hook::<Steps>(settings! { every = "2it" }).err().unwrap();
    assert_eq!(
        refused.to_string(),
        "hook `Steps`: `every` would skip the role on_optimizer_step, which every step needs"
    );
}

#[test]
fn every_extension_is_offered_and_layers_have_outputs_after_a_forward_pass() {
    let mut t = FakeTrainer::new().layer("fc1", [1.0, 2.0]).layer("fc2", [3.0]);
    let missing = crate::abi::EXTENSIONS.iter().filter(|it| t.own.1.extension(it.id).is_null());
    assert_eq!(missing.map(|it| it.id).collect::<Vec<_>>(), [""; 0]);
    let watched = t.with(|t| t.watch_layers("fc*")).unwrap();
    let error = t.with(|t| t.layer_output(&watched[0]).err()).unwrap().to_string();
    assert_eq!(error, "layer `fc1` has no output in this iteration");
    t.fire(Point::OnTrainForward).unwrap();
    let read = |t: &mut Trainer| t.layer_output(&watched[0])?.to_vec::<f32>();
    assert_eq!(t.with(read).unwrap(), [1.0, 2.0]);
}

#[test]
fn a_written_file_can_be_asserted_on_and_needs_a_run_directory() {
    let mut t = FakeTrainer::new().run_dir("/runs/one");
    t.with(|t| t.write_file("curves/roc.json", "{}")).unwrap();
    assert_eq!(t.written_file("curves/roc.json").as_deref(), Some(&b"{}"[..]));
    let error = FakeTrainer::new().with(|t| t.write_file("a.txt", [1])).unwrap_err().to_string();
    assert_eq!(error, "this run has no directory");
}

#[test]
fn a_file_is_loaded_a_tensor_is_shared_and_a_second_model_runs() {
    let mut t = FakeTrainer::new()
        .tensor_file("w.safetensors", [("a", [1.0, 2.0].into()), ("b", [3.0].into())])
        .second_model(|input| Ok(input.copy()));
    let loaded = t.with(|t| -> Result<_> {
        let tensors = t.load_tensors("w.safetensors")?;
        t.put_state_tensor("teacher", &tensors[0].1)?;
        let names = tensors.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
        Ok((names, tensors[1].1.to_vec::<f32>()?))
    });
    assert_eq!(loaded.unwrap(), (vec!["a".to_owned(), "b".to_owned()], vec![3.0]));
    let shared = t.with(|t| -> Result<_> {
        let shared = t.state_tensor("teacher")?.map(|tensor| tensor.to_vec::<f32>()).transpose()?;
        Ok((shared, t.remove_state_tensor("teacher")?, t.remove_state_tensor("teacher")?))
    });
    assert_eq!(shared.unwrap(), (Some(vec![1.0, 2.0]), true, false));
    let model_output = t.with(|t| -> Result<_> {
        let input = t.full(&[2], 0.5)?;
        t.build_model(&Value::Table(Vec::new()))?.forward(&input)?.to_vec::<f32>()
    });
    assert_eq!(model_output.unwrap(), [0.5, 0.5]);
    let error = t.with(|t| t.load_tensors("other")).err().unwrap().to_string();
    assert_eq!(error, "no file `other`: give one with FakeTrainer::tensor_file");
}

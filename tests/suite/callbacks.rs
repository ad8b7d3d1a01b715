//! Closures as hooks, for a program that uses hookrack as a library.

use crate::workbench::Bench;
use hookrack::hooks::CallbackHook;
use hookrack::job::Job;
use hookrack::train::{Ending, Interrupt, Parts, Trainer};
use hookrack::writers::Writers;
use hookrack_plugin_api::prelude::AsTensors as _;
use hookrack_plugin_api::{Level, OnError, Point};
use std::cell::RefCell;
use std::rc::Rc;

/// Trains a tiny job with a hook of closures.
fn fit(hook: CallbackHook) -> Ending {
    let bench = Bench::new("");
    let mut job = Job::load(&bench.path("config.toml"), &[]).unwrap();
    job.add(hook).unwrap();
    let parts = Parts::build(&job.config).unwrap();
    let trainer = Trainer::assemble(parts, &job, Writers::default(), None, Interrupt::default());
    trainer.unwrap().fit()
}

#[test]
fn closures_are_called_at_their_points_and_can_stop_the_run() {
    let seen = Rc::new(RefCell::new(Vec::new()));
    let (begun, trained) = (Rc::clone(&seen), Rc::clone(&seen));
    let hook = CallbackHook::new("mine")
        .level(Level::HIGHEST)
        .at(Point::BeforeTrain, move |t| {
            begun.borrow_mut().push((0, t.params().len()));
            Ok(())
        })
        .at(Point::AfterTrainIter, move |t| {
            trained.borrow_mut().push((t.iter(), t.instance().len()));
            if t.iter() == 3 { t.request_stop("enough") } else { Ok(()) }
        });
    let ending = fit(hook);
    assert!(matches!(&ending, Ending::Stopped(stop) if stop.who == "mine" && stop.why == "enough"));
    assert_eq!(*seen.borrow(), [(0, 4), (1, 4), (2, 4), (3, 4)]);
}

#[test]
fn an_error_or_a_panic_in_a_closure_is_reported_and_contained() {
    let failing = CallbackHook::new("bad")
        .at(Point::AfterTrainIter, |_| Err(hookrack_plugin_api::Error::new("no luck")));
    let Ending::Failed(error) = fit(failing) else { panic!("the run went on") };
    let said = error.to_string();
    assert!(said.contains("`bad`") && said.contains("no luck"), "{said}");
    let panicking = CallbackHook::new("worse")
        .on_error(OnError::Disable)
        .at(Point::AfterTrainIter, |_| panic!("oh"));
    assert!(matches!(fit(panicking), Ending::Completed));
}

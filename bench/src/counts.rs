//! Runs each hot path a known number of times under callgrind, which counts instructions: they do not depend on how busy the machine is.
//!
//! A reader of callgrind's output finds the calls of [`counted`] in the function [`run`], each at a line of its own, in this order.

use crate::error::BenchError;
use crate::measured_hooks::{POINT, context, from_library, job, rack};
use clap::Args;
use hookrack::torch::{Arg, Op};
use hookrack::train::Parts;
use serde_json::{Value as Json, json};
use std::hint::black_box;
use std::path::PathBuf;
use tch::{Device, Kind, Tensor};

/// Run each hot path a number of times and print its name and that number
#[derive(Args)]
pub(crate) struct CountsArgs {
    /// The library with the hook `Noop`
    #[arg(long)]
    library: PathBuf,
}

/// Calls of a path: enough that what surrounds the loop does not matter.
const CALLS: u32 = 1000;

/// Batches of the loader, each of 64 samples.
const BATCHES: u32 = 20;

/// Runs every path, and returns their names and numbers of calls, in the order of the lines.
#[inline(never)]
pub(crate) fn run(args: &CountsArgs) -> Result<Json, BenchError> {
    let context = context()?;
    let hook = from_library(&args.library, "Noop")?;
    let mut racks =
        [rack(&hook, 0, &context)?, rack(&hook, 1, &context)?, rack(&hook, 10, &context)?];
    let [none, one, ten] = &mut racks;
    let key = context.events.borrow_mut().key("counted", false);
    let (op, tensor) =
        (Op::find("aten::add_.Scalar")?, Tensor::zeros([1], (Kind::Float, Device::Cpu)));
    let mut parts = Parts::build(&job(&["data.train.samples=2000"])?.config)?;

    counted(CALLS, || none.fire(black_box(POINT)).is_ok())?;
    counted(CALLS, || one.fire(black_box(POINT)).is_ok())?;
    counted(CALLS, || ten.fire(black_box(POINT)).is_ok())?;
    let put = || {
        context.put(black_box(key), 0.5);
        true
    };
    counted(CALLS, put)?;
    counted(CALLS, || op.run(&[Arg::tensor(&tensor), Arg::float(1.0)]).is_ok())?;
    counted(BATCHES, || matches!(parts.loaders.train.next_batch(), Ok(Some(_))))?;
    Ok(json!([
        ("fire, 0 hooks", CALLS),
        ("fire, 1 hook", CALLS),
        ("fire, 10 hooks", CALLS),
        ("put_scalar", CALLS),
        ("operator call", CALLS),
        ("batch of the loader", BATCHES),
    ]))
}

/// Calls a path so many times.
#[inline(never)]
fn counted(times: u32, mut path: impl FnMut() -> bool) -> Result<(), BenchError> {
    let failures = (0..times).filter(|_| !path()).count();
    let failures = u32::try_from(failures).unwrap_or(u32::MAX);
    match failures {
        0 => Ok(()),
        _ => Err(BenchError::Calls { name: "a counted path".to_owned(), failures }),
    }
}

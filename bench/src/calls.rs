//! What one call of a hook costs: bare, and through the rack that times it.

use crate::error::BenchError;
use crate::report::{About, Line, Section, Target};
use crate::rounds::{Case, best_of};
use crate::subjects::{Counter, Kinds, POINT, Plain, context, instance, rack};
use hookrack::dispatch::Rack;
use hookrack::plugins::{HookType, Instance};
use hookrack::train::Context;
use hookrack_plugin_api::Point;
use hookrack_plugin_api::abi::HrStatus;
use quanta::Clock;
use std::hint::black_box;
use std::rc::Rc;

/// How much dearer than a trait object a plugin's hook may be.
const MOST: f64 = 1.5;

/// What a point without hooks may cost beside the empty loop: less than the loop itself varies by.
const NOTHING: f64 = 1.0;

/// Measures all calls in one run, in turn.
pub(crate) fn measure(rounds: u32) -> Result<Section, BenchError> {
    let (kinds, context) = (Kinds::load()?, context()?);
    let mut cases = vec![empty_loop(), trait_object(&context), timed_trait_object(&context)];
    for (name, kind) in kinds.each("table call") {
        cases.push(table_call(name, instance(kind, &context)?));
    }
    for (name, kind) in kinds.each("rack, 1 hook") {
        cases.push(through_rack(name, 1, POINT, rack(kind, 1, &context)?));
    }
    for (name, kind) in kinds.each("rack, 10 hooks") {
        cases.push(through_rack(name, 10, POINT, rack(kind, 10, &context)?));
    }
    let empty = rack(&kinds.built_in, 1, &context)?;
    cases.push(through_rack("rack, point without hooks", 1, Point::AfterBackward, empty));

    let best = best_of(rounds, &mut cases)?;
    // Each loop costs the empty one too, once a pass.
    let nets: Vec<_> =
        best.iter().zip(&cases).map(|(pass, case)| (pass - best[0]) / f64::from(case.calls)).collect();
    let mut lines = vec![Line::new("the loop itself (taken off below)", best[0])];
    for (case, net) in cases.iter().zip(&nets).skip(1) {
        lines.push(judged(Line::new(case.name, *net).to(net / nets[1])));
    }
    let title = format!("one hook call, of a hook that counts its calls (best of {rounds} interleaved rounds)");
    Ok(Section { title, unit: "ns", yardstick: "x Box<dyn>", lines })
}

fn judged(line: Line) -> Line {
    if line.name.starts_with("table call") {
        line.must(About::Ratio, Target::AtMost(MOST))
    } else if line.name.ends_with("without hooks") {
        line.must(About::Value, Target::AtMost(NOTHING))
    } else {
        line
    }
}

impl Kinds {
    /// The kinds, with the name of each of their cases.
    fn each(&self, call: &'static str) -> [(&'static str, &HookType); 3] {
        let names = match call {
            "table call" => ["table call, built in", "table call, Rust .so", "table call, C .so"],
            "rack, 1 hook" => ["rack, 1 hook, timed, built in", "rack, 1 hook, timed, Rust .so", "rack, 1 hook, timed, C .so"],
            _ => ["rack, 10 hooks, timed, built in", "rack, 10 hooks, timed, Rust .so", "rack, 10 hooks, timed, C .so"],
        };
        let [built_in, rust, c] = names;
        [(built_in, &self.built_in), (rust, &self.rust), (c, &self.c)]
    }
}

fn empty_loop() -> Case {
    let mut nobody = 0_u64;
    Case::new("the loop itself", 1, move |passes| {
        for _ in 0..passes {
            black_box(&mut nobody);
            black_box(POINT);
        }
        0
    })
}

fn trait_object(context: &Rc<Context>) -> Case {
    let mut hook: Box<dyn Plain> = Box::new(Counter::default());
    let context = Rc::clone(context);
    Case::new("Box<dyn Trait>", 1, move |passes| {
        let mut failures = 0;
        for _ in 0..passes {
            let result = black_box(&mut hook).on_point(black_box(POINT), &context);
            failures += u32::from(result.is_err());
        }
        failures
    })
}

/// The trait object again, with its time taken after each call, as the rack does: what the clock costs.
fn timed_trait_object(context: &Rc<Context>) -> Case {
    let mut hook: Box<dyn Plain> = Box::new(Counter::default());
    let (context, clock, mut ticks) = (Rc::clone(context), Clock::new(), 0_u64);
    Case::new("Box<dyn Trait>, timed", 1, move |passes| {
        let mut failures = 0;
        let mut before = clock.raw();
        for _ in 0..passes {
            let result = black_box(&mut hook).on_point(black_box(POINT), &context);
            let now = clock.raw();
            ticks = ticks.wrapping_add(now.wrapping_sub(before));
            before = now;
            failures += u32::from(result.is_err());
        }
        black_box(ticks);
        failures
    })
}

fn table_call(name: &'static str, mut instance: Instance) -> Case {
    Case::new(name, 1, move |passes| {
        let mut failures = 0;
        for _ in 0..passes {
            let status = black_box(&mut instance).on_point(black_box(POINT));
            failures += u32::from(status != HrStatus::OK);
        }
        failures
    })
}

fn through_rack(name: &'static str, hooks: u32, point: Point, mut rack: Rack) -> Case {
    Case::new(name, hooks, move |passes| {
        let mut failures = 0;
        for _ in 0..passes {
            failures += u32::from(black_box(&mut rack).fire(black_box(point)).is_err());
        }
        failures
    })
}

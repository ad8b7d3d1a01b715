//! What one call of a hook costs: bare, and through the rack that times it.

use crate::error::BenchError;
use crate::report::{About, Line, Section, Target};
use crate::rounds::{Case, best_of};
use crate::subjects::{Counter, Kinds, POINT, Plain, context, instance, rack};
use hookrack::dispatch::Rack;
use hookrack::plugins::Instance;
use hookrack::train::Context;
use hookrack_plugin_api::Point;
use hookrack_plugin_api::abi::HrStatus;
use quanta::Clock;
use std::hint::black_box;
use std::rc::Rc;

/// How much dearer than a trait object a plugin's hook may be.
const MOST: f64 = 1.5;

/// The nanoseconds that a point without hooks may add to an empty loop: too few to be seen in a step.
const NOTHING: f64 = 1.0;

/// Hooks at the crowded point.
const MANY: u32 = 10;

/// Measures all calls in one run, in turn.
pub(crate) fn measure(rounds: u32) -> Result<Vec<Section>, BenchError> {
    let (kinds, context) = (Kinds::load()?, context()?);
    let kinds = [("built in", &kinds.built_in), ("Rust .so", &kinds.rust), ("C .so", &kinds.c)];
    let idle = rack(kinds[0].1, 1, &context)?;
    let mut cases = vec![empty_loop(), through_rack("idle", 1, Point::AfterBackward, idle)];
    cases.push(trait_object(&context));
    for (name, kind) in kinds {
        cases.push(table_call(name, instance(kind, &context)?));
    }
    for count in [1, MANY] {
        cases.push(timed_trait_objects(count, &context));
        for (name, kind) in kinds {
            cases.push(through_rack(name, count, POINT, rack(kind, count, &context)?));
        }
    }
    let best = best_of(rounds, &mut cases)?;
    let found: Vec<_> = cases.iter().map(|case| case.name.as_str()).zip(best).collect();

    let title = format!(
        "one call of a hook that counts its calls, without the loop around it (best of {rounds} interleaved rounds)"
    );
    let (empty, idle) = (found[0].1, found[1].1);
    // What is judged is the call alone: a dear loop would make every ratio look better than it is.
    let net: Vec<_> = found[2..6].iter().map(|(name, best)| (*name, best - empty)).collect();
    let mut bare = section(title, &net);
    bare.lines.push(Line::new("the loop that was taken off each of them", empty));
    let beyond = Line::new("a point without hooks, beyond the loop", idle - empty);
    bare.lines.push(beyond.must(About::Value, Target::AtMost(NOTHING)));
    Ok(vec![
        bare,
        section(
            "the same through the rack, always timed: 1 hook at the point".to_owned(),
            &found[6..10],
        ),
        section(format!("and {MANY} hooks at the point: each of them"), &found[10..14]),
    ])
}

/// The first one is the yardstick.
fn section(title: String, found: &[(&str, f64)]) -> Section {
    let yardstick = found.first().map_or(f64::NAN, |first| first.1);
    let line = |(i, (name, best)): (usize, &(&str, f64))| {
        let line = Line::new(*name, *best).to(best / yardstick);
        if i == 0 { line } else { line.must(About::Ratio, Target::AtMost(MOST)) }
    };
    let lines = found.iter().enumerate().map(line).collect();
    Section { title, unit: "ns", yardstick: "x Box<dyn>", lines }
}

fn empty_loop() -> Case {
    let mut nobody = 0_u64;
    Case::new("the loop", 1, move |passes| {
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

/// Trait objects in a row, each timed as the rack times: the clock is read once before the first and after each.
fn timed_trait_objects(count: u32, context: &Rc<Context>) -> Case {
    let mut hooks: Vec<(Box<dyn Plain>, u64)> = Vec::new();
    hooks.resize_with(count as usize, || (Box::new(Counter::default()), 0));
    let (context, clock) = (Rc::clone(context), Clock::new());
    Case::new("Box<dyn Trait>, timed", count, move |passes| {
        let mut failures = 0;
        for _ in 0..passes {
            let mut before = clock.raw();
            for (hook, ticks) in black_box(&mut hooks) {
                let result = hook.on_point(black_box(POINT), &context);
                let now = clock.raw();
                *ticks = ticks.wrapping_add(now.wrapping_sub(before));
                before = now;
                failures += u32::from(result.is_err());
            }
        }
        failures
    })
}

fn table_call(name: &str, mut instance: Instance) -> Case {
    Case::new(name, 1, move |passes| {
        let mut failures = 0;
        for _ in 0..passes {
            let status = black_box(&mut instance).on_point(black_box(POINT));
            failures += u32::from(status != HrStatus::OK);
        }
        failures
    })
}

fn through_rack(name: &str, hooks: u32, point: Point, mut rack: Rack) -> Case {
    Case::new(name, hooks, move |passes| {
        let mut failures = 0;
        for _ in 0..passes {
            failures += u32::from(black_box(&mut rack).fire(black_box(point)).is_err());
        }
        failures
    })
}

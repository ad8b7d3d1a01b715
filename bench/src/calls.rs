//! The cost of one hook call: direct, and through the rack, which times it.

use crate::error::BenchError;
use crate::measured_hooks::{Counter, Kinds, POINT, Plain, context, instance, rack};
use crate::report::{About, Line, Section, Target};
use crate::rounds::{Case, best_of};
use hookrack::context::Context;
use hookrack::dispatch::Rack;
use hookrack::plugins::Instance;
use hookrack_plugin_api::Point;
use hookrack_plugin_api::abi::HrStatus;
use quanta::Clock;
use std::hint::black_box;
use std::rc::Rc;

/// The maximum ratio of a plugin's hook to a trait object.
const MOST: f64 = 1.5;

/// The nanoseconds that a point without hooks may add to an empty loop.
const NOTHING: f64 = 1.0;

/// The nanoseconds that guard, breadcrumb and timing together may add to a call of a table's function.
const GUARDED: f64 = 10.0;

/// Hooks at the crowded point.
const MANY: u32 = 10;

/// Copies of the loop around a measured call. The alignment of a loop changes the cost of a call into a library by a cycle; the mean over
/// many copies does not depend on it.
const SITES: usize = 8;

/// The same case in [`SITES`] loops, each with its own call instruction: a call with a single target is predicted better than one with
/// several.
macro_rules! at_every_site {
    ($case:ident::<$kind:literal> $arguments:tt) => {{
        let cases: [Case; SITES] = [
            $case::<$kind, 0> $arguments,
            $case::<$kind, 1> $arguments,
            $case::<$kind, 2> $arguments,
            $case::<$kind, 3> $arguments,
            $case::<$kind, 4> $arguments,
            $case::<$kind, 5> $arguments,
            $case::<$kind, 6> $arguments,
            $case::<$kind, 7> $arguments,
        ];
        cases
    }};
}

/// Measures all calls in one run, in turn.
pub(crate) fn measure(rounds: u32) -> Result<Vec<Section>, BenchError> {
    let (kinds, context) = (Kinds::load()?, context()?);
    let row = [&kinds.rust, &kinds.c, &kinds.rust_by_two];
    let row = row.into_iter().map(|kind| instance(kind, &context)).collect::<Result<_, _>>()?;
    let kinds = [("built in", &kinds.built_in), ("Rust .so", &kinds.rust), ("C .so", &kinds.c)];
    let idle = rack(kinds[0].1, 1, &context)?;
    let mut cases = vec![empty_loop(), through_rack("idle", 1, Point::AfterBackward, idle)];
    cases.extend([row_of_trait_objects(&context), row_of_plugins(row)]);
    for count in [1, MANY] {
        cases.push(timed_trait_objects(count, &context));
        for (name, kind) in kinds {
            cases.push(through_rack(name, count, POINT, rack(kind, count, &context)?));
        }
    }
    let lone = cases.len();
    let [built_in, rust, c] = kinds;
    cases.extend(at_every_site!(trait_object::<0>(&context)));
    cases.extend(at_every_site!(table_call::<1>(built_in.0, instance(built_in.1, &context)?)));
    cases.extend(at_every_site!(table_call::<2>(rust.0, instance(rust.1, &context)?)));
    cases.extend(at_every_site!(table_call::<3>(c.0, instance(c.1, &context)?)));
    cases.extend(at_every_site!(guarded_call::<4>(instance(rust.1, &context)?)));
    let best = best_of(rounds, &mut cases)?;
    let found: Vec<_> = cases.iter().map(|case| case.name.as_str()).zip(best).collect();

    let title = format!(
        "the function of a hook that counts its calls, alone in a loop (best of {rounds} interleaved rounds, mean of {SITES} loops)"
    );
    let (empty, idle) = (found[0].1, found[1].1);
    let sites: Vec<_> = found[lone..].chunks(SITES).map(mean).collect();
    let [.., table_of_rust, _, with_guard] = sites[..] else { return Ok(Vec::new()) };
    let mut bare = judged(title, &sites[..sites.len() - 1]);
    // Not subtracted: the loop's few instructions overlap with the call, and an empty loop takes one or two cycles depending on its
    // alignment.
    bare.lines.push(Line::new("the same loop without a call", empty));
    let beyond = Line::new("a point without hooks, beyond the loop", idle - empty);
    bare.lines.push(beyond.must(About::Value, Target::AtMost(NOTHING)));
    Ok(vec![
        guarded([table_of_rust.1, with_guard.1], [&found[4..8], &found[8..lone]]),
        bare,
        judged("functions of three types in sequence: each of them".to_owned(), &found[2..4]),
        judged(
            "calls through the rack, guarded and timed: 1 hook at the point".to_owned(),
            &found[4..8],
        ),
        judged(format!("and {MANY} hooks at the point: each of them"), &found[8..lone]),
    ])
}

/// What the host adds to a call: a hook of a Rust library, at its point alone and among [`MANY`], less the function alone.
fn guarded([alone, with_guard]: [f64; 2], at_point: [&[(&str, f64)]; 2]) -> Section {
    let of_rust = |cases: &[(&str, f64)]| {
        cases.iter().find(|(name, _)| *name == "Rust .so").map_or(f64::NAN, |it| it.1)
    };
    let [one, each_of_many] = at_point.map(of_rust);
    let added = |name: String, whole: f64| {
        Line::new(name, whole - alone).must(About::Value, Target::AtMost(GUARDED))
    };
    Section {
        title: "what a call costs beyond the function of its table".to_owned(),
        unit: "ns",
        baseline: "",
        lines: vec![
            Line::new("the table's function alone, Rust .so", alone),
            Line::new("with guard and breadcrumb", with_guard),
            Line::new("through the rack, timed, 1 hook at the point", one),
            Line::new(format!("through the rack, timed, {MANY} hooks at the point"), each_of_many),
            added("guard, breadcrumb and timing together, 1 hook".to_owned(), one),
            added(format!("guard, breadcrumb and timing together, {MANY} hooks"), each_of_many),
        ],
    }
}

/// One figure for the same case in several loops.
#[expect(clippy::cast_precision_loss, reason = "there are few loops")]
fn mean<'a>(sites: &[(&'a str, f64)]) -> (&'a str, f64) {
    let name = sites.first().map_or("", |site| site.0);
    (name, sites.iter().map(|site| site.1).sum::<f64>() / sites.len() as f64)
}

/// The first one is the baseline; the others have a target.
fn judged(title: String, found: &[(&str, f64)]) -> Section {
    let baseline = found.first().map_or(f64::NAN, |first| first.1);
    let compared = |(name, best): &(&str, f64)| Line::new(*name, *best).to(best / baseline);
    let mut lines: Vec<_> = found.iter().map(compared).collect();
    for line in lines.iter_mut().skip(1) {
        line.target = Some((About::Ratio, Target::AtMost(MOST)));
    }
    Section { title, unit: "ns", baseline: "x Box<dyn>", lines }
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

fn trait_object<const KIND: u32, const SITE: u32>(context: &Rc<Context>) -> Case {
    let mut hook: Box<dyn Plain> = Box::new(Counter::<1>::default());
    let context = Rc::clone(context);
    Case::new("Box<dyn Trait>", 1, move |passes| {
        black_box((KIND, SITE));
        let mut failures = 0;
        for _ in 0..passes {
            let result = black_box(&mut hook).on_point(black_box(POINT), &context);
            failures += u32::from(result.is_err());
        }
        failures
    })
}

/// One call instruction, three targets in turn: how a host without plugins would call its hooks.
fn row_of_trait_objects(context: &Rc<Context>) -> Case {
    let mut hooks: Vec<Box<dyn Plain>> = vec![
        Box::new(Counter::<1>::default()),
        Box::new(Counter::<3>::default()),
        Box::new(Counter::<2>::default()),
    ];
    let context = Rc::clone(context);
    Case::new("Box<dyn Trait>", 3, move |passes| {
        let mut failures = 0;
        for _ in 0..passes {
            for hook in black_box(&mut hooks) {
                failures += u32::from(hook.on_point(black_box(POINT), &context).is_err());
            }
        }
        failures
    })
}

/// The same with plugins: two types of a Rust library, one of a C library.
fn row_of_plugins(mut hooks: Vec<Instance>) -> Case {
    Case::new("plugins in Rust, C, Rust", 3, move |passes| {
        let mut failures = 0;
        for _ in 0..passes {
            for hook in black_box(&mut hooks) {
                failures += u32::from(hook.call_bare(black_box(POINT)) != HrStatus::OK);
            }
        }
        failures
    })
}

/// Trait objects in sequence, timed as in the rack: the clock is read once before the first and after each.
fn timed_trait_objects(count: u32, context: &Rc<Context>) -> Case {
    let mut hooks: Vec<(Box<dyn Plain>, u64)> = Vec::new();
    hooks.resize_with(count as usize, || (Box::new(Counter::<1>::default()), 0));
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

fn table_call<const KIND: u32, const SITE: u32>(name: &str, mut instance: Instance) -> Case {
    Case::new(name, 1, move |passes| {
        black_box((KIND, SITE));
        let mut failures = 0;
        for _ in 0..passes {
            let status = black_box(&mut instance).call_bare(black_box(POINT));
            failures += u32::from(status != HrStatus::OK);
        }
        failures
    })
}

/// The call of a run without its timing.
fn guarded_call<const KIND: u32, const SITE: u32>(mut instance: Instance) -> Case {
    Case::new("guarded", 1, move |passes| {
        black_box((KIND, SITE));
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

//! The time of commands that do not train.

use crate::error::BenchError;
use crate::program;
use crate::report::{About, Line, Section, Target};
use crate::rounds::median;

/// Maximum seconds of an interactive command.
const MOST: f64 = 0.6;

const COMMANDS: [&[&str]; 3] =
    [&["--help"], &["plan", "configs/quickstart.toml"], &["inspect", "plugins/libema.so"]];

/// Starts each command this many times, in turn.
pub(crate) fn measure(rounds: u32) -> Result<Section, BenchError> {
    let mut times: [Vec<f64>; 3] = Default::default();
    for _ in 0..rounds {
        for (args, times) in COMMANDS.iter().zip(&mut times) {
            times.push(program::seconds(args)?);
        }
    }
    let line = |(args, times): (&&[&str], &Vec<f64>)| {
        Line::new(format!("hookrack {}", args.join(" ")), median(times))
            .must(About::Value, Target::AtMost(MOST))
    };
    let title = format!("from start to the end of the output (medians of {rounds})");
    Ok(Section {
        title,
        unit: "s",
        baseline: "",
        lines: COMMANDS.iter().zip(&times).map(line).collect(),
    })
}

//! Tests of the fake trainer: operators, hooks, runs.

mod hooks;
mod operators;
mod runs;

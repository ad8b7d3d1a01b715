//! Tests of the fake trainer: operators, hooks, runs.

mod conveniences;
mod hooks;
mod operators;
mod rules;
mod runs;

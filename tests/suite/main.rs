//! Tests of hookrack through what a user touches: the program, plugin libraries, run directories.
//!
//! One test program; each module is about one promise. [`workbench`] runs the program in a folder of its own,
//! [`workshop`] builds plugins that need more than this workspace.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test's own machinery fails the test")]

mod abi_evolution;
mod accumulation;
mod author_api;
mod bad_configs;
mod callbacks;
mod catalogue;
mod checks;
mod commands;
mod configs;
mod console;
mod data;
mod dataflow;
mod device;
mod drawing;
mod ema;
mod endings;
mod event_files;
mod examples;
mod exporters;
mod failures;
mod fast_dev_run;
mod faults;
mod golden;
mod graph;
mod hooks;
mod keeping;
mod launch;
mod library;
mod loader;
mod losses;
mod measuring;
mod metric_objects;
mod mishaps;
mod models;
mod module_map;
mod mutations;
mod numeric;
mod order;
mod outside;
mod patience;
mod plugin_folders;
mod plugin_settings;
mod points;
mod precision;
mod profiler;
mod ranks;
mod recording;
mod report;
mod resume;
mod roles;
mod run_directory;
mod schedule;
mod second_pass;
mod seed_parameters;
mod seed_rows;
mod seed_table;
mod seeds;
mod sharding;
mod soak;
mod stdio;
mod swa;
mod tensorboard;
mod tidy;
mod torchscript;
mod trust;
mod validation;
mod verified;
mod weights;
mod workbench;
mod workshop;

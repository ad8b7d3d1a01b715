//! Fuzz tests of the readers of external files, in their short form: each reader must return a value or an error for any input.
//!
//! `hookrack-readers` has the readers and their seeds. Here good files are flipped, cut, repeated and mixed, with numbers at the limits: a few
//! hundred inputs, the same ones every time, on any compiler. `cargo xtask fuzz` runs the same readers under libFuzzer, which is guided by
//! coverage; without cargo-fuzz it runs these tests for longer.
//!
//! What once made a reader fail is kept in `fixtures/fuzz/READER/` and read first, every time.

#![expect(clippy::print_stdout, reason = "reports the number of inputs")]

use crate::workbench::Bench;
use crate::workshop::repository;
use hookrack::run::checkpoint;
use hookrack_readers::{GROUPS, Prepared, Reader, all, kept_in, reader};
use std::collections::BTreeSet;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::time::{Duration, Instant};

/// The variable with the seed of the inputs; the same seed gives the same ones.
const SEED: &str = "HOOKRACK_FUZZ_SEED";
/// The variable with the number of seconds for each reader, set by xtask.
const SECONDS: &str = "HOOKRACK_FUZZ_SECONDS";
/// The variable with the only reader to run, set by xtask.
const READER: &str = "HOOKRACK_FUZZ_READER";
/// Inputs for each reader without it.
const FEW: u64 = 300;

/// A random number generator with the same numbers on every machine.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        // xorshift64*.
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.next() >> 33).unwrap() % limit.max(1)
    }
}
/// Numbers at which readers are likely to fail.
const LIMITS: [u64; 10] =
    [0, 1, 0x7f, 0x80, 0xff, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff, i64::MAX as u64, u64::MAX];

/// Pieces of the formats.
const WORDS: [&str; 14] = [
    "[",
    "]",
    "{",
    "}",
    "\"",
    "_base_ = \"x\"\n",
    "nan",
    "-1",
    "1e999",
    "'",
    "\\u0000",
    "\n[a.b]\n",
    ",",
    "9223372036854775808",
];

/// One damaged input, made from one or two valid ones.
fn damaged(seeds: &[Vec<u8>], numbers: &mut Numbers) -> Vec<u8> {
    let mut bytes = seeds[numbers.below(seeds.len())].clone();
    for _ in 0..=numbers.below(8) {
        let at = numbers.below(bytes.len());
        match numbers.below(8) {
            0 if !bytes.is_empty() => bytes[at] ^= 1 << numbers.below(8),
            1 if !bytes.is_empty() => bytes[at] = u8::try_from(numbers.below(256)).unwrap(),
            2 => bytes.truncate(at),
            3 => {
                let limit = LIMITS[numbers.below(LIMITS.len())].to_le_bytes();
                let width = [1, 2, 4, 8][numbers.below(4)].min(bytes.len() - at);
                bytes[at..at + width].copy_from_slice(&limit[..width]);
            }
            4 => {
                let width = [2, 4, 8][numbers.below(3)].min(bytes.len() - at);
                let limit = LIMITS[numbers.below(LIMITS.len())].to_be_bytes();
                bytes[at..at + width].copy_from_slice(&limit[8 - width..]);
            }
            5 => {
                let other = &seeds[numbers.below(seeds.len())];
                let from = numbers.below(other.len());
                let piece = &other[from..(from + numbers.below(64)).min(other.len())];
                drop(bytes.splice(at..at, piece.iter().copied()));
            }
            6 => {
                let until = (at + numbers.below(64)).min(bytes.len());
                let piece = bytes[at..until].to_vec();
                drop(bytes.splice(at..at, piece));
            }
            _ => {
                let word = WORDS[numbers.below(WORDS.len())].bytes();
                drop(bytes.splice(at..at, word));
            }
        }
    }
    bytes.truncate(1 << 20);
    bytes
}

fn variable(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|text| text.parse().ok())
}

/// Gives a reader its seeds, what it failed at once, and damaged inputs: a few, or as many as the time allows.
#[track_caller]
fn fuzz(reader: Reader) {
    let name = reader.name;
    let Prepared { seeds, read } = reader.prepare();
    let said: Vec<_> = seeds.iter().map(|seed| read(seed)).collect();
    assert!(said.iter().any(Result::is_ok), "{name}: no seed is accepted: {said:?}");
    let panics = |input: &[u8]| catch_unwind(AssertUnwindSafe(|| drop(read(input)))).is_err();
    for kept in reader.kept() {
        let again = panics(&fs::read(&kept).unwrap());
        assert!(!again, "{name}: the reader panics again at {}", kept.display());
    }
    let (seconds, began) = (variable(SECONDS), Instant::now());
    let mut numbers = Numbers(variable(SEED).unwrap_or(0x9e37_79b9_7f4a_7c15).max(1));
    for count in 0_u64.. {
        let is_done = match seconds {
            Some(seconds) => began.elapsed() > Duration::from_secs(seconds),
            None => count >= FEW,
        };
        if is_done {
            println!("{name}: {count} inputs in {:.1} s", began.elapsed().as_secs_f64());
            return;
        }
        let input = damaged(&seeds, &mut numbers);
        if panics(&input) {
            let kept = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("fuzz-{name}-{count}"));
            fs::write(&kept, &input).unwrap();
            let (kept, fixtures) = (kept.display(), kept_in(name));
            panic!("{name}: {kept} makes the reader panic: copy it to {}", fixtures.display());
        }
    }
}

#[track_caller]
fn fuzz_group(group: &str) {
    let (_, readers) = GROUPS.iter().find(|(name, _)| *name == group).unwrap();
    let only = std::env::var(READER).ok();
    for reader in readers.iter().filter(|it| only.as_ref().is_none_or(|only| only == it.name)) {
        fuzz(*reader);
    }
}

#[test]
fn configs_and_overrides_of_any_bytes_are_read_or_refused() {
    fuzz_group("config");
}

#[test]
fn data_files_of_any_bytes_are_read_or_refused() {
    fuzz_group("data");
}

#[test]
fn what_decides_about_plugins_is_read_or_refused_whatever_it_is() {
    fuzz_group("plugins");
}

#[test]
fn run_directories_with_a_damaged_file_are_read_or_refused() {
    fuzz_group("run");
}

#[test]
fn every_reader_is_in_a_group_and_has_a_target_and_its_fixtures_a_reader() {
    assert_eq!(GROUPS.map(|(name, _)| name), ["config", "data", "plugins", "run"], "tests above");
    let names: BTreeSet<_> = all().map(|reader| reader.name.to_owned()).collect();
    assert_eq!(names.len(), all().count(), "each name once");
    let listed = |folder: &str| -> BTreeSet<String> {
        let entries = fs::read_dir(repository().join(folder)).unwrap();
        let stem = |path: &Path| path.file_stem().unwrap().to_str().unwrap().to_owned();
        entries.map(|entry| stem(&entry.unwrap().path())).collect()
    };
    assert_eq!(listed("fuzz/fuzz_targets"), names);
    let manifest = fs::read_to_string(repository().join("fuzz/Cargo.toml")).unwrap();
    for name in &names {
        let target = repository().join("fuzz/fuzz_targets").join(format!("{name}.rs"));
        assert!(fs::read_to_string(target).unwrap().contains(&format!("target!(\"{name}\")")));
        assert!(manifest.contains(&format!("name = \"{name}\"\n")), "{name}");
    }
    let mut fixtures = listed("tests/fixtures/fuzz");
    fixtures.remove("README");
    assert!(fixtures.is_subset(&names), "{fixtures:?}");
}

/// The seed of the checkpoint readers is a file of the repository: it must be one that the present host would write.
#[test]
fn the_checkpoint_of_the_readers_has_the_files_of_a_new_one() {
    let bench = Bench::new("");
    let run = bench.trained("run", &[]);
    let seeds = repository().join("tests/readers/seeds/run");
    let files = |run: &Path| -> Vec<String> {
        let manifest = checkpoint::Manifest::read(&run.join("checkpoints/iter_0000004")).unwrap();
        manifest.files().map(|(name, _)| name.to_owned()).collect()
    };
    let how = "copy config.toml, metrics.json, run.json and checkpoints/iter_0000004 of a new run";
    assert_eq!(files(&seeds), files(&run.path), "{how} to {}", seeds.display());
}

#[test]
fn a_signature_that_is_cut_off_anywhere_is_refused() {
    let Prepared { seeds, read } = reader("signature").unwrap().prepare();
    let good = seeds[0].trim_ascii_end();
    read(good).unwrap();
    // A second signature that is cut off once made the host panic.
    for end in 0..good.len() {
        assert!(read(&good[..end]).is_err(), "cut off after {end} bytes");
    }
}

#[test]
fn a_signature_with_text_that_is_not_signed_is_refused() {
    let Prepared { seeds, read } = reader("signature").unwrap().prepare();
    let good = String::from_utf8(seeds[0].clone()).unwrap();
    let lines: Vec<_> = good.lines().collect();
    for (at, text) in [(1, " "), (1, "\u{b}"), (2, "\t"), (3, " "), (3, "\u{c}"), (3, "\nmore")] {
        let mut lines: Vec<_> = lines.iter().map(ToString::to_string).collect();
        lines[at] += text;
        assert!(read(lines.join("\n").as_bytes()).is_err(), "{text:?} behind line {at}");
    }
}

//! Fuzz tests of the readers of external files: each must return a value or an error for any input.
//!
//! Not guided by coverage, which would need a nightly compiler: valid files are flipped, cut, repeated and mixed, with numbers at the limits.
//! A few inputs here; `cargo xtask fuzz --minutes N` tries millions. The current input is in `fuzz-input` of the test folder and stays
//! there after a crash; add it to the fixtures.

//! What once made a reader fail is kept in `fixtures/fuzz/READER/` and read first, every time.

#![expect(clippy::print_stdout, reason = "reports the number of inputs")]

mod plugins;

use crate::workbench::Bench;
use crate::workshop::repository;
use hookrack::config::ConfigFile;
use hookrack::engine::data::{
    CsvSettings, CsvTarget, Dataset, IdxImagesSettings, NpySettings, NpzSettings,
    SafetensorsSettings, Split, TokensSettings, TrainTest,
};
use hookrack::engine::registry::Component as _;
use hookrack::plugins::trust::LockFile;
use hookrack::run::checkpoint;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// The variable with the seed of the inputs; the same seed gives the same ones.
const SEED: &str = "HOOKRACK_FUZZ_SEED";
/// The variable with the number of seconds for each reader, set by xtask.
const SECONDS: &str = "HOOKRACK_FUZZ_SECONDS";
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

/// Gives a reader damaged inputs, a few or as many as the time allows.
#[track_caller]
fn fuzz(name: &str, seeds: &[Vec<u8>], read: impl Fn(&Path)) {
    let folder = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let file = folder.path().join("fuzz-input");
    let seconds = std::env::var(SECONDS).ok().and_then(|text| text.parse::<u64>().ok());
    let began = Instant::now();
    let seed = std::env::var(SEED).ok().and_then(|text| text.parse::<u64>().ok());
    let mut numbers = Numbers(seed.unwrap_or(0x9e37_79b9_7f4a_7c15).max(1));
    for kept in kept(name) {
        fs::copy(&kept, &file).unwrap();
        let ran = catch_unwind(AssertUnwindSafe(|| read(&file)));
        assert!(ran.is_ok(), "{name}: the reader panics again at {}", kept.display());
    }
    for count in 0_u64.. {
        let is_done = match seconds {
            Some(seconds) => began.elapsed() > Duration::from_secs(seconds),
            None => count >= FEW,
        };
        if is_done {
            println!("{name}: {count} inputs in {:.1} s", began.elapsed().as_secs_f64());
            return;
        }
        let input = damaged(seeds, &mut numbers);
        fs::write(&file, &input).unwrap();
        if catch_unwind(AssertUnwindSafe(|| read(&file))).is_err() {
            let kept = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("fuzz-{name}-{count}"));
            fs::write(&kept, &input).unwrap();
            panic!("{name}: input {count} makes the reader panic: {}", kept.display());
        }
    }
}

/// What made a reader fail once.
fn kept(name: &str) -> Vec<PathBuf> {
    let folder = repository().join("tests/fixtures/fuzz").join(name);
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    entries.map(|entry| entry.unwrap().path()).collect()
}

fn golden(files: &[&str]) -> Vec<Vec<u8>> {
    let folder = repository().join("host/engine/src/data/golden");
    files.iter().map(|file| fs::read(folder.join(file)).unwrap()).collect()
}

/// Opens a data set and reads its description.
fn look(built: Result<Box<dyn Dataset>, impl std::fmt::Display>) {
    match built {
        Ok(data) => drop((data.len(), data.spec(), data.check().is_ok())),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

#[test]
fn a_config_of_any_bytes_is_read_or_refused() {
    let folder = repository().join("configs");
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let seeds: Vec<_> = files
        .filter(|it| it.extension() == Some("toml".as_ref()))
        .map(|it| fs::read(it).unwrap())
        .collect();
    fuzz("config", &seeds, |file| {
        let read = ConfigFile::load_in(Path::new("."), file, &[]);
        drop(read.map_err(|error| error.to_string()));
    });
}

#[test]
fn an_override_of_any_text_is_read_or_refused() {
    let config = repository().join("configs/quickstart.toml");
    let seeds = ["train.max_epochs=3", "a.0.b={c=[1,'x']}", "optimizer.lr=0.001", "x=\"y\""];
    fuzz("override", &seeds.map(|seed| seed.as_bytes().to_vec()), |file| {
        let text = String::from_utf8_lossy(&fs::read(file).unwrap()).into_owned();
        drop(ConfigFile::load_in(Path::new("."), &config, &[text]).map_err(|it| it.to_string()));
    });
}

#[test]
fn npy_files_of_any_bytes_are_read_or_refused() {
    let seeds = golden(&["x_f4.npy", "x_u1.npy", "y_i8.npy", "x_fortran.npy", "v_f8.npy"]);
    let labels = repository().join("host/engine/src/data/golden/y_i8.npy");
    fuzz("npy", &seeds, |file| {
        let [inputs, labels] = [file.to_owned(), labels.clone()];
        let (classes, ignore_index) = (None, None);
        look(NpySettings { inputs, labels, classes, ignore_index }.build(&()));
    });
}

#[test]
fn npz_archives_of_any_bytes_are_read_or_refused() {
    fuzz("npz", &golden(&["arrays.npz", "tokens.npz"]), |file| {
        let settings = NpzSettings {
            path: file.to_owned(),
            inputs: "x".to_owned(),
            labels: "y".to_owned(),
            classes: None,
            ignore_index: None,
        };
        look(settings.build(&()));
    });
}

#[test]
fn safetensors_files_of_any_bytes_are_read_or_refused() {
    fuzz("safetensors", &golden(&["arrays.safetensors"]), |file| {
        let settings = SafetensorsSettings {
            path: file.to_owned(),
            inputs: "x".to_owned(),
            labels: "y".to_owned(),
            classes: None,
            ignore_index: None,
        };
        look(settings.build(&()));
    });
}

#[test]
fn csv_files_of_any_bytes_are_read_or_refused() {
    let seeds =
        ["a,b,label\n1,2,yes\n3,4.5,no\n", "1;2;3\n4;5;6\n", "\"x\",\"la\"\"bel\"\n1,\"2\"\n"];
    fuzz("csv", &seeds.map(|seed| seed.as_bytes().to_vec()), |file| {
        let settings = CsvSettings {
            path: file.to_owned(),
            label: "label".to_owned(),
            columns: Vec::new(),
            header: true,
            delimiter: ",".to_owned(),
            target: CsvTarget::Classes,
            classes: Vec::new(),
            ignore_index: None,
        };
        look(settings.build(&()));
    });
}

#[test]
fn idx_files_of_any_bytes_are_read_or_refused() {
    let images = [&[0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0, 2][..], &[7; 8]].concat();
    let labels = [0, 0, 8, 1, 0, 0, 0, 2, 0, 1];
    let folder = TempDir::new().unwrap();
    let own: PathBuf = folder.path().join("labels");
    fs::write(&own, labels).unwrap();
    fuzz("idx", &[images, labels.to_vec()], |file| {
        let settings = IdxImagesSettings {
            dir: None,
            split: TrainTest::Train,
            images: Some(file.to_owned()),
            labels: Some(own.clone()),
            classes: None,
            ignore_index: None,
        };
        look(settings.build(&()));
    });
}

#[test]
fn gzip_streams_of_any_bytes_are_read_or_refused() {
    let labels = repository().join("tests/fixtures/bad_data/data/six-labels");
    let packed = ["six-images.gz", "flipped-labels.gz"];
    let packed = packed.map(|it| fs::read(labels.with_file_name(it)).unwrap());
    fuzz("gzip", &packed, |file| {
        let settings = IdxImagesSettings {
            dir: None,
            split: TrainTest::Train,
            images: Some(file.to_owned()),
            labels: Some(labels.clone()),
            classes: None,
            ignore_index: None,
        };
        look(settings.build(&()));
    });
}

#[test]
fn token_files_of_any_bytes_are_read_or_refused() {
    let plain = repository().join("tests/fixtures/bad_data/data/tokens.npy");
    let seeds = [golden(&["tokens.npz"]), vec![fs::read(plain).unwrap()]].concat();
    fuzz("tokens", &seeds, |file| {
        let settings = TokensSettings {
            path: file.to_owned(),
            array: None,
            context: 3,
            stride: None,
            vocab: None,
            split: Split::All,
            val_share: 0.1,
        };
        look(settings.build(&()));
    });
}

#[test]
fn a_lock_file_of_any_bytes_is_read_or_refused() {
    let seed =
        b"[[library]]\nfile = \"libema.so\"\ntarget = \"x86_64-linux-gnu\"\nsha256 = \"00\"\n";
    fuzz("lock", &[seed.to_vec()], |file| {
        drop(LockFile::read(file).map_err(|error| error.to_string()));
    });
}

#[test]
fn a_checkpoint_with_a_damaged_file_is_read_or_refused() {
    let bench = Bench::new("");
    let run = bench.trained("run", &[]);
    let checkpoint = run.path.join("checkpoints/iter_0000004");
    for name in ["MANIFEST.json", "state.json", "model.safetensors", "hooks.safetensors"] {
        let path = checkpoint.join(name);
        let Ok(good) = fs::read(&path) else { continue };
        fuzz(&format!("checkpoint-{name}"), std::slice::from_ref(&good), |file| {
            fs::copy(file, &path).unwrap();
            drop(checkpoint::read_verified(&checkpoint).map_err(|error| error.to_string()));
            drop(checkpoint::read(&checkpoint).map_err(|error| error.to_string()));
        });
        fs::write(&path, good).unwrap();
    }
}

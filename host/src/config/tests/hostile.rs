//! Hostile files: an error in reasonable time, and never a panic.

use std::path::Path;
use std::time::{Duration, Instant};

use super::catalog::catalog;
use super::fixtures::{cases, fixtures};
use crate::config::ConfigFile;

/// Small, and the same on every machine.
struct Rng(u64);

impl Rng {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 8).unwrap() % sides
    }
}

/// Pieces that mean something to TOML or to us.
const PIECES: [&str; 18] = [
    "\"",
    "'",
    "[",
    "]]",
    "{",
    "}",
    "=",
    "\n",
    ".",
    "_base_ = 3\n",
    "_delete_ = true\n",
    "é",
    "\\",
    "\t",
    "\r\n",
    "99999999999999999999",
    "nan",
    "\u{feff}",
];

fn mutated(text: &[u8], rng: &mut Rng) -> Vec<u8> {
    let mut text = text.to_vec();
    for _ in 0..=rng.roll(4) {
        let at = rng.roll(text.len() + 1);
        let end = (at + rng.roll(12)).min(text.len());
        let piece = match rng.roll(4) {
            0 => Vec::new(),
            1 => vec![u8::try_from(rng.roll(256)).unwrap()],
            _ => PIECES[rng.roll(PIECES.len())].as_bytes().to_vec(),
        };
        text.splice(at..end, piece);
    }
    text
}

#[test]
fn no_damaged_config_panics() {
    let folder = fixtures("good_configs").canonicalize().unwrap();
    let dir = tempfile::tempdir().unwrap();
    let catalog = catalog(&[]);
    let mut rng = Rng(0x9E37_79B9_7F4A_7C15);
    for case in cases(&folder) {
        let text = std::fs::read(case).unwrap();
        for _ in 0..500 {
            let path = dir.path().join("damaged.toml");
            std::fs::write(&path, mutated(&text, &mut rng)).unwrap();
            let file = ConfigFile::load_in(&folder, &path, &["train.seed=1".into()]);
            let outcome = file.and_then(|file| file.resolve(&catalog));
            if let Err(errors) = outcome {
                assert!(!errors.is_empty() && !errors.render(true).is_empty());
            }
        }
    }
}

#[test]
fn the_largest_file_of_nonsense_is_answered_in_good_time() {
    let dir = tempfile::tempdir().unwrap();
    let lines: Vec<_> = (0..300_000_u32).map(|line| format!("k{line} = 1")).collect();
    let lines = lines.join("\n");
    std::fs::write(dir.path().join("under.toml"), &lines).unwrap();
    let over = format!("_base_ = 'under.toml'\n{lines}");
    std::fs::write(dir.path().join("c.toml"), over).unwrap();
    let start = Instant::now();
    let file = ConfigFile::load_in(dir.path(), Path::new("c.toml"), &[]).unwrap();
    let errors = file.resolve(&catalog(&[])).unwrap_err();
    assert!(errors.to_string().contains("more errors are not shown"));
    assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
}

#[test]
fn bases_that_multiply_are_stopped() {
    let dir = tempfile::tempdir().unwrap();
    for depth in 0..12 {
        let text = format!("_base_ = ['{0}.toml', '{0}.toml']", depth + 1);
        std::fs::write(dir.path().join(format!("{depth}.toml")), text).unwrap();
    }
    std::fs::write(dir.path().join("12.toml"), "").unwrap();
    let error = ConfigFile::load_in(dir.path(), Path::new("0.toml"), &[]).unwrap_err();
    assert!(error.to_string().contains("more than 256 files are read as bases"), "{error}");
}

//! Damaged copies of a good library: whatever is in them, the host survives, and under `require` none is ever mapped.
//!
//! A few of them here; `cargo xtask mutate` makes thousands.

use crate::workbench::Bench;
use crate::workshop::compile_c;
use std::fs;

/// The variable with which xtask requests more.
const COUNT: &str = "HOOKRACK_MUTATIONS";

/// A generator of numbers that are the same on every machine.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: usize) -> usize {
        // Knuth's constants for a linear congruential generator; the upper bits are the better ones.
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % limit
    }
}

fn word(bytes: &[u8], at: usize) -> usize {
    usize::try_from(u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap())).unwrap()
}

fn half(bytes: &[u8], at: usize) -> usize {
    usize::from(u16::from_le_bytes(bytes[at..at + 2].try_into().unwrap()))
}

/// Offset and size of every segment and section, and of the tables that list them.
fn parts(elf: &[u8]) -> Vec<(usize, usize)> {
    let (segments, sections) = (word(elf, 32), word(elf, 40));
    let (segment_count, section_count) = (half(elf, 56), half(elf, 60));
    let mut parts = vec![(0, 64), (segments, 56 * segment_count), (sections, 64 * section_count)];
    parts.extend(
        (0..segment_count)
            .map(|i| segments + 56 * i)
            .map(|at| (word(elf, at + 8), word(elf, at + 32))),
    );
    parts.extend(
        (0..section_count)
            .map(|i| sections + 64 * i)
            .map(|at| (word(elf, at + 24), word(elf, at + 32))),
    );
    parts.retain(|(at, size)| *size > 0 && at + size <= elf.len());
    parts
}

/// Cuts at every boundary first, then flipped bits and exchanged parts in turn.
fn mutation(good: &[u8], index: usize) -> Vec<u8> {
    let parts = parts(good);
    let mut cuts: Vec<usize> = parts.iter().flat_map(|(at, size)| [*at, at + size]).collect();
    cuts.sort_unstable();
    cuts.dedup();
    cuts.retain(|cut| *cut < good.len());
    let mut bytes = good.to_vec();
    if let Some(cut) = cuts.get(index / 3).filter(|_| index.is_multiple_of(3)) {
        bytes.truncate(*cut);
        return bytes;
    }
    let mut numbers = Numbers(index as u64 + 1);
    if index % 3 == 1 {
        let ((a, a_size), (b, b_size)) =
            (parts[numbers.below(parts.len())], parts[numbers.below(parts.len())]);
        let size = a_size.min(b_size);
        let first = bytes[a..a + size].to_vec();
        bytes.copy_within(b..b + size, a);
        bytes[b..b + size].copy_from_slice(&first);
    } else {
        // Half of the flips are where they hurt: in the headers and tables.
        for _ in 0..=numbers.below(20) {
            let (at, size) = parts[numbers.below(parts.len())];
            let at = if numbers.below(2) == 0 {
                at + numbers.below(size)
            } else {
                numbers.below(good.len())
            };
            bytes[at] ^= 1 << numbers.below(8);
        }
    }
    bytes
}

#[test]
fn damaged_libraries_never_take_the_host_down() {
    let count = std::env::var(COUNT).map_or(60, |count| count.parse().unwrap());
    let bench = Bench::bare();
    fs::create_dir(bench.path("here")).unwrap();
    let define = format!("-DFILE_NAME=\"{}\"", bench.path("maps").display());
    compile_c("shows_maps", &bench.path("here/libgood.so"), &["-shared", &define]);
    let good = fs::read(bench.path("here/libgood.so")).unwrap();
    for index in 0..count {
        let file = bench.path(&format!("here/lib{index:05}.so"));
        fs::write(file, mutation(&good, index)).unwrap();
    }

    let listed = bench.run(["plugins", "--dir", "here", "--json"]);
    let files = listed.expect(0).json();
    let files = files.as_array().unwrap();
    assert_eq!(files.len(), count + 1);
    let state = |file: &str| files.iter().find(|one| one["file"] == file).unwrap()["state"].clone();
    assert_eq!(state("libgood.so"), "ready");
    let refused = files.iter().filter(|file| file["state"] != "ready").count();
    assert!(refused > count / 3, "{refused} of {count}");

    let hook = "[[custom_hooks]]\ntype = \"ShowsMaps\"\nlibrary = \"libgood.so\"\n";
    let config =
        |plugins: &str| crate::workbench::TINY.replace("dirs = [\"plugins\"]", plugins) + hook;
    bench.write("config.toml", &config("dirs = [\"here\"]"));
    bench.train("loose", &[]).0.expect(0);

    bench.write("config.toml", &config("dirs = [\"here\"]\npolicy = \"require\""));
    bench.run(["lock", "config.toml"]).expect(0).prints(&["libgood.so", "1 library"]);
    fs::remove_file(bench.path("maps")).unwrap();
    bench.train("strict", &[]).0.expect(0);
    let maps = bench.read("maps");
    let mapped: Vec<_> =
        maps.lines().filter(|line| line.contains("/memfd:") || line.contains("/here/")).collect();
    assert!(
        !mapped.is_empty() && mapped.iter().all(|line| line.contains("/memfd:libgood.so")),
        "{maps}"
    );
}

//! Validates a file's ELF headers before the dynamic linker maps it.
//!
//! dlopen trusts them: a file that ends inside one of its segments is still mapped, and the first access to
//! the missing part kills the process with SIGBUS.

use super::machine;

/// The size of the header, by which a file is recognized.
pub(super) const HEADER_SIZE: usize = 64;
const ENTRY_SIZE: usize = 56;

/// Why a file is not a library that this host can load.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum ElfError {
    #[error("the file is empty: build or copy it again")]
    Empty,
    #[error(
        "not an ELF shared library, but {looks_like}: use the .so file that the build produced"
    )]
    NotElf { looks_like: &'static str },
    #[error("built for {built_for}, this host is {host}: rebuild it for {host}")]
    Foreign { built_for: String, host: String },
    #[error("{kind}, not a shared library: {fix}")]
    NotShared { kind: &'static str, fix: &'static str },
    #[error("truncated: ends at byte {size}, its {part} need {need}: build or copy it again")]
    Truncated { size: usize, part: &'static str, need: u64 },
    #[error("damaged: {what}: build or copy it again")]
    Damaged { what: String },
}

/// Refuses everything but a whole shared library for this machine. Section headers are not required: a stripped
/// file may have none.
pub(super) fn check(bytes: &[u8]) -> Result<(), ElfError> {
    check_identity(bytes)?;
    let elf = Elf { bytes };
    elf.check_kind()?;
    let segments = elf.segments()?;
    for segment in &segments {
        elf.check_bounds(segment)?;
    }
    elf.check_dynamic(&segments)
}

/// Magic, word size, byte order and machine: what the first bytes tell.
pub(super) fn check_identity(bytes: &[u8]) -> Result<(), ElfError> {
    if bytes.is_empty() {
        return Err(ElfError::Empty);
    }
    if !bytes.starts_with(b"\x7fELF") {
        return Err(ElfError::NotElf { looks_like: machine::guess(bytes) });
    }
    if bytes.len() < HEADER_SIZE {
        let need = HEADER_SIZE as u64;
        return Err(ElfError::Truncated { size: bytes.len(), part: "headers", need });
    }
    let bits = match bytes[4] {
        1 => 32,
        2 => 64,
        other => return damaged(format!("{other} is not an ELF class")),
    };
    let order = [bytes[18], bytes[19]];
    let (machine, suffix) = match bytes[5] {
        1 => (u16::from_le_bytes(order), ""),
        2 => (u16::from_be_bytes(order), " (big-endian)"),
        other => return damaged(format!("{other} is not an ELF byte order")),
    };
    let native = if cfg!(target_endian = "little") { 1 } else { 2 };
    if (bits, bytes[5], machine) == (64, native, machine::HOST) {
        return Ok(());
    }
    let built_for = machine::name(machine, bits) + suffix;
    Err(ElfError::Foreign { built_for, host: machine::name(machine::HOST, 64) })
}

fn damaged<T>(what: String) -> Result<T, ElfError> {
    Err(ElfError::Damaged { what })
}

/// A file that has at least a whole 64-bit header of this machine's byte order.
struct Elf<'a> {
    bytes: &'a [u8],
}

/// A program header, as far as it is of interest.
struct Segment {
    kind: u32,
    offset: u64,
    size: u64,
}

impl Elf<'_> {
    const LOAD: u32 = 1;
    const DYNAMIC: u32 = 2;

    fn u16(&self, at: usize) -> u16 {
        u16::from_ne_bytes(self.array(at))
    }

    fn u64(&self, at: usize) -> u64 {
        u64::from_ne_bytes(self.array(at))
    }

    /// `N` bytes at `at`; zeros past the end, which no caller reaches.
    fn array<const N: usize>(&self, at: usize) -> [u8; N] {
        let end = at.saturating_add(N);
        self.bytes.get(at..end).and_then(|part| part.try_into().ok()).unwrap_or([0; N])
    }

    fn check_kind(&self) -> Result<(), ElfError> {
        let (kind, fix) = match self.u16(16) {
            3 => return Ok(()),
            1 => ("an object file", "link it with -shared"),
            2 => (
                "an executable",
                "build it with crate-type = [\"cdylib\"], or link it with -shared",
            ),
            4 => ("a core dump", "use the .so file that the build produced"),
            other => return damaged(format!("{other} is not an ELF file type")),
        };
        Err(ElfError::NotShared { kind, fix })
    }

    fn segments(&self) -> Result<Vec<Segment>, ElfError> {
        let (table, entry, count) = (self.u64(32), self.u16(54), usize::from(self.u16(56)));
        if count == 0 || usize::from(entry) != ENTRY_SIZE {
            return damaged(format!("it has {count} program headers of {entry} bytes"));
        }
        let need = table.saturating_add((count * ENTRY_SIZE) as u64);
        let size = self.bytes.len();
        match usize::try_from(table) {
            Ok(table) if need <= size as u64 => {
                Ok((0..count).map(|i| self.segment(table + i * ENTRY_SIZE)).collect())
            }
            _ => Err(ElfError::Truncated { size, part: "headers", need }),
        }
    }

    fn segment(&self, at: usize) -> Segment {
        let kind = u32::from_ne_bytes(self.array(at));
        Segment { kind, offset: self.u64(at + 8), size: self.u64(at + 32) }
    }

    fn check_bounds(&self, segment: &Segment) -> Result<(), ElfError> {
        let size = self.bytes.len();
        match segment.offset.checked_add(segment.size) {
            None => damaged("a segment is larger than any file".to_owned()),
            Some(need) if need > size as u64 => {
                Err(ElfError::Truncated { size, part: "segments", need })
            }
            Some(_) => Ok(()),
        }
    }

    /// A library has something to map and a dynamic segment, which also tells an executable that looks like one.
    fn check_dynamic(&self, segments: &[Segment]) -> Result<(), ElfError> {
        const FLAGS_1: u64 = 0x6fff_fffb;
        const PIE: u64 = 0x0800_0000;
        if !segments.iter().any(|segment| segment.kind == Self::LOAD) {
            return damaged("it has no segment to load".to_owned());
        }
        let Some(dynamic) = segments.iter().find(|segment| segment.kind == Self::DYNAMIC) else {
            return Err(ElfError::NotShared {
                kind: "statically linked",
                fix: "link it with -shared",
            });
        };
        let [start, size] = [dynamic.offset, dynamic.size].map(|n| usize::try_from(n).unwrap_or(0));
        let mut entries = (0..size / 16)
            .map(|i| start + i * 16)
            .map(|at| (self.u64(at), self.u64(at + 8)))
            .take_while(|(tag, _)| *tag != 0);
        if entries.any(|(tag, value)| tag == FLAGS_1 && value & PIE != 0) {
            let fix = "build it with crate-type = [\"cdylib\"], or link it with -shared";
            return Err(ElfError::NotShared { kind: "an executable", fix });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_machine_is_named_whatever_its_word_size_and_byte_order() {
        let mut file = vec![0; HEADER_SIZE];
        file[..6].copy_from_slice(b"\x7fELF\x01\x02");
        file[19] = 20;
        let error = check(&file).unwrap_err().to_string();
        assert!(error.starts_with("built for powerpc (big-endian), this host is "), "{error}");
    }

    #[test]
    fn a_file_that_is_not_elf_is_identified() {
        for (bytes, name) in [
            (&b"MZ\x90\x00"[..], "a Windows library"),
            (b"\xcf\xfa\xed\xfe", "a macOS library"),
            (b"!<arch>\n", "a static library"),
            (b"#!/bin/sh\n", "text"),
            (b"\x00\x01", "data of an unknown kind"),
        ] {
            assert_eq!(check(bytes), Err(ElfError::NotElf { looks_like: name }));
        }
        assert_eq!(check(b""), Err(ElfError::Empty));
    }

    #[test]
    fn an_executable_is_not_a_library() {
        let bytes = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        assert!(matches!(check(&bytes), Err(ElfError::NotShared { kind: "an executable", .. })));
    }
}

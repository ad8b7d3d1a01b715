//! The machines that an ELF file may be built for, and guesses about files that are not ELF.

/// The host's own machine, as ELF numbers it.
pub(super) const HOST: u16 = if cfg!(target_arch = "x86_64") {
    62
} else if cfg!(target_arch = "aarch64") {
    183
} else if cfg!(target_arch = "riscv64") {
    243
} else if cfg!(target_arch = "powerpc64") {
    21
} else if cfg!(target_arch = "s390x") {
    22
} else {
    0
};

/// A machine's name, with its word size where a name covers two.
pub(super) fn name(machine: u16, bits: u8) -> String {
    let name = match machine {
        3 => "i386",
        8 => "mips",
        20 => "powerpc",
        21 => "powerpc64",
        22 => "s390x",
        40 => "arm",
        62 if bits == 32 => "x32",
        62 => "x86_64",
        183 => "aarch64",
        243 if bits == 32 => "riscv32",
        243 => "riscv64",
        247 => "bpf",
        258 => "loongarch64",
        other => return format!("machine {other} ({bits}-bit)"),
    };
    name.to_owned()
}

/// What a file that is not an ELF file seems to be.
pub(super) fn guess(bytes: &[u8]) -> &'static str {
    match bytes {
        [b'M', b'Z', ..] => "a Windows library",
        [0xfe, 0xed, 0xfa, 0xce | 0xcf, ..]
        | [0xce | 0xcf, 0xfa, 0xed, 0xfe, ..]
        | [0xca, 0xfe, 0xba, 0xbe, ..] => "a macOS library",
        [b'!', b'<', b'a', b'r', b'c', b'h', b'>', ..] => "a static library",
        [0x1f, 0x8b, ..] | [b'P', b'K', 3, 4, ..] => "an archive",
        _ if bytes.iter().take(512).all(|b| b.is_ascii_graphic() || b.is_ascii_whitespace()) => {
            "text"
        }
        _ => "data of an unknown kind",
    }
}

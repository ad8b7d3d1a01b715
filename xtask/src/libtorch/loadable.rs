//! Whether the dynamic linker can load a library and its dependencies.

use std::path::Path;

use crate::process;

/// The dependencies of `library` that cannot be found. Empty without `ldd`: the
/// first program that runs will then report them.
pub(crate) fn unresolved(library: &Path) -> Vec<String> {
    let mut command = process::command("ldd");
    command.arg(library).env_remove("LD_LIBRARY_PATH");
    process::output(&mut command).map(|text| not_found(&text)).unwrap_or_default()
}

fn not_found(ldd: &str) -> Vec<String> {
    ldd.lines()
        .filter_map(|line| line.trim().strip_suffix("=> not found"))
        .map(|name| name.trim().to_owned())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_not_found_is_listed() {
        let text = "\tlibc10.so => /x/libc10.so (0x00007f)\n\tlibcupti.so.13 => not found\n\
                    \t/lib64/ld-linux-x86-64.so.2 (0x00007f)\n";
        assert_eq!(not_found(text), ["libcupti.so.13"]);
    }
}

//! Where a packed program looks for its libraries: beside itself, and not in folders of the build machine.

use std::{fs, path::Path};

use super::DistError;
use crate::{error::TaskError, files::During as _, process};

/// The library folder beside the folder of the program.
pub(crate) const WANTED: &str = "$ORIGIN/../lib";

/// Removes every other folder from the program's runpath. The builder's libtorch would otherwise be found first,
/// on this machine, and hide a library that was not packed.
pub(crate) fn keep_only_own(program: &Path) -> Result<(), TaskError> {
    let mut command = process::command("readelf");
    let found = of_readelf(&process::output(command.args(["--dynamic", "--wide"]).arg(program))?);
    if !found.split(':').any(|folder| folder == WANTED) {
        return Err(DistError::Runpath { program: program.to_owned(), found }.into());
    }
    if found == WANTED {
        return Ok(());
    }
    let mut bytes = fs::read(program).during("read", program)?;
    let times = replace(&mut bytes, &found);
    if times != 1 {
        return Err(DistError::Ambiguous { program: program.to_owned(), found, times }.into());
    }
    Ok(fs::write(program, bytes).during("write", program)?)
}

/// The text in `(RUNPATH) Library runpath: [A:B]`, or nothing.
fn of_readelf(text: &str) -> String {
    text.lines()
        .filter(|line| line.contains("(RUNPATH)") || line.contains("(RPATH)"))
        .find_map(|line| line.split_once('[')?.1.split_once(']'))
        .map(|(folders, _)| folders.to_owned())
        .unwrap_or_default()
}

/// Overwrites `found` with the wanted runpath, padded with zeros; returns the number of occurrences.
fn replace(bytes: &mut [u8], found: &str) -> usize {
    let old = [found.as_bytes(), b"\0"].concat();
    let mut new = WANTED.as_bytes().to_vec();
    new.resize(old.len(), 0);
    let places: Vec<usize> =
        bytes.windows(old.len()).enumerate().filter(|(_, w)| *w == old).map(|(at, _)| at).collect();
    if let [at] = places.as_slice() {
        bytes[*at..*at + old.len()].copy_from_slice(&new);
    }
    places.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compiler;

    fn compiled(folder: &Path, runpath: &str) -> std::path::PathBuf {
        let (source, program) = (folder.join("a.c"), folder.join("a"));
        fs::write(&source, "int main(void) { return 0; }").unwrap();
        let mut command = compiler::c().unwrap();
        command.arg("-o").arg(&program).arg(&source).arg(format!("-Wl,-rpath,{runpath}"));
        process::run(&mut command).unwrap();
        program
    }

    #[test]
    fn the_builders_folder_is_dropped_and_the_program_still_runs() {
        let folder = tempfile::tempdir().unwrap();
        let program = compiled(folder.path(), "/builder/libtorch/lib:$ORIGIN/../lib");
        keep_only_own(&program).unwrap();
        let mut command = process::command("readelf");
        let text = process::output(command.arg("--dynamic").arg(&program)).unwrap();
        assert_eq!(of_readelf(&text), WANTED);
        process::run(&mut process::command(&program)).unwrap();
    }

    #[test]
    fn a_program_that_does_not_look_beside_itself_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let program = compiled(folder.path(), "/builder/libtorch/lib");
        let text = keep_only_own(&program).unwrap_err().to_string();
        assert!(text.contains("its runpath is `/builder/libtorch/lib`"), "{text}");
        assert!(text.contains("-Wl,-rpath,$ORIGIN/../lib"), "{text}");
    }

    #[test]
    fn a_program_without_runpath_has_an_empty_one() {
        assert_eq!(of_readelf(" 0x01 (NEEDED) Shared library: [libc.so.6]\n"), "");
    }
}

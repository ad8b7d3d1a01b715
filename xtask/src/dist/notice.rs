//! `THIRD-PARTY.md` of a release: third-party code and its licenses.

use std::{collections::BTreeSet, fs, path::Path};

use crate::{
    commands::Built,
    error::TaskError,
    files::{self, During as _},
    process, report,
    workspace::Workspace,
};

const ABOUT_LIBRARIES: &str = include_str!("THIRD-PARTY.md");

/// Writes the note and copies the license texts that came with libtorch's wheels.
pub(crate) fn write(workspace: &Workspace, built: &Built, folder: &Path) -> Result<(), TaskError> {
    let mut command = process::cargo();
    command.current_dir(workspace.root()).args(["tree", "--package=hookrack", "--edges=normal"]);
    command.args(["--prefix=none", "--format={p}|{l}|{r}"]);
    let note = folder.join("THIRD-PARTY.md");
    let text = format!("{ABOUT_LIBRARIES}{}", table(&process::output(&mut command)?));
    fs::write(&note, text).during("write", &note)?;
    let texts = built.libtorch.join("licenses");
    if texts.is_dir() {
        files::copy_tree(&texts, &folder.join("licenses"))?;
    } else {
        report::warning(&format!(
            "{} has no licenses/, so the license texts of libtorch are not packed; do not publish this archive. \
             Unset LIBTORCH, remove that folder and run `cargo xtask setup` to get one that has them",
            built.libtorch.display()
        ));
    }
    Ok(())
}

/// Converts cargo's lines `name v1.2.3|MIT|https://…` into rows, without duplicates and without the workspace's own packages, which have
/// a path.
fn table(tree: &str) -> String {
    let rows: BTreeSet<String> = tree
        .lines()
        .map(|line| line.trim_end_matches(" (*)"))
        .filter_map(|line| {
            let mut fields = line.split('|');
            let (package, license, source) = (fields.next()?, fields.next()?, fields.next()?);
            let package = package.trim_end_matches(" (proc-macro)");
            (!package.contains(" (")).then(|| format!("| {package} | {license} | {source} |\n"))
        })
        .collect();
    let head = "| package | license | source |\n|---|---|---|\n";
    head.to_owned() + &rows.into_iter().collect::<String>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_third_party_package_is_in_the_table_once() {
        let tree = "hookrack v0.1.0 (/w/host)|MIT OR Apache-2.0|https://h\nb v2.0.0|MIT|https://b\n\
                    a v1.0.0 (proc-macro)|ISC|https://a\nb v2.0.0|MIT|https://b (*)\n";
        assert_eq!(
            table(tree),
            "| package | license | source |\n|---|---|---|\n| a v1.0.0 | ISC | https://a |\n| b v2.0.0 | MIT | https://b |\n"
        );
    }
}

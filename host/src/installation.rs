//! What this machine adds to the plugin folders of a config: `HOOKRACK_PLUGINS`, and the folder of the installation.

use std::env;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// The variable with further plugin folders, separated as in `PATH`.
pub const PLUGINS_VARIABLE: &str = "HOOKRACK_PLUGINS";

/// The folders that are searched after those of the config, absolute: the variable's, then `plugins` beside the folder of
/// the program. They need not exist.
pub fn plugin_folders() -> Vec<PathBuf> {
    folders(env::var_os(PLUGINS_VARIABLE).as_deref(), program().as_deref())
}

/// The program itself, not a link to it.
fn program() -> Option<PathBuf> {
    env::current_exe().and_then(|path| path.canonicalize()).ok()
}

fn folders(variable: Option<&OsStr>, program: Option<&Path>) -> Vec<PathBuf> {
    let empty = OsString::new();
    let named = env::split_paths(variable.unwrap_or(&empty)).filter(|dir| dir != Path::new(""));
    let named = named.filter_map(|dir| std::path::absolute(dir).ok());
    let installed = program.and_then(Path::parent).and_then(Path::parent);
    let mut folders: Vec<PathBuf> = Vec::new();
    for dir in named.chain(installed.map(|root| root.join("plugins"))) {
        if !folders.contains(&dir) {
            folders.push(dir);
        }
    }
    folders
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(variable: &str, program: &str) -> Vec<PathBuf> {
        folders(Some(OsStr::new(variable)), Some(Path::new(program)))
    }

    #[test]
    fn the_variable_comes_before_the_folder_of_the_installation() {
        let program = "/opt/hookrack/bin/hookrack";
        assert_eq!(found("", program), [Path::new("/opt/hookrack/plugins")]);
        let wanted = ["/a", "/b", "/opt/hookrack/plugins"].map(PathBuf::from);
        assert_eq!(found("/a::/b:/a", program), wanted);
        assert_eq!(found("/opt/hookrack/plugins", program).len(), 1);
        let current = env::current_dir().unwrap();
        assert_eq!(found("mine", "/hookrack"), [current.join("mine")]);
        assert!(folders(None, None).is_empty());
    }
}

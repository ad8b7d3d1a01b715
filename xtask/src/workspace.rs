//! The root of the workspace, and the paths in it that xtask uses.

use std::{
    env,
    path::{Path, PathBuf},
};

#[derive(Debug, Clone)]
pub(crate) struct Workspace {
    root: PathBuf,
}

impl Workspace {
    /// The folder above xtask's own. Cargo sets it at run time; using that distinguishes two
    /// checkouts that share a target folder.
    pub(crate) fn locate() -> Self {
        let own = env::var_os("CARGO_MANIFEST_DIR")
            .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
        let root = own.parent().map_or_else(|| own.clone(), Path::to_owned);
        Self { root }
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// The link that `.cargo/config.toml` names as LIBTORCH.
    pub(crate) fn libtorch_link(&self) -> PathBuf {
        self.root.join(".libtorch")
    }

    /// Sources of the bundled plugins, one folder each; the built libraries are beside those folders.
    pub(crate) fn plugins(&self) -> PathBuf {
        self.root.join("plugins")
    }

    pub(crate) fn c_headers(&self) -> PathBuf {
        self.root.join("plugin-api/include")
    }
}

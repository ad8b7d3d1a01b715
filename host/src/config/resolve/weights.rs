//! `[weights]`, or `train.load_from` for short: weights that training starts from.

use std::path::PathBuf;

use super::Resolver;
use crate::config::sections::WeightsSection;

impl Resolver<'_> {
    /// The section, if it exists and is valid.
    #[expect(clippy::option_option, reason = "absent is fine, wrong is not")]
    pub(super) fn weights(&mut self) -> Option<Option<WeightsSection>> {
        if self.file.root.node("weights").is_none() {
            return Some(None);
        }
        self.plain("weights").map(Some)
    }
}

impl WeightsSection {
    /// The section that `train.load_from` is short for.
    pub(super) fn all_of(path: PathBuf) -> Self {
        Self { path, strict: true, rename: Vec::new(), ignore: Vec::new() }
    }
}

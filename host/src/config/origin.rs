//! Where a value came from: a place in a file, an override on the command line, or a default.

use std::fmt;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

/// A text that configuration was read from. Every value keeps a handle on its document, so that an
/// error found late can still show the line that caused it.
#[derive(Debug)]
pub struct Document {
    /// The place as a person would name it: a path, or `-s`.
    pub(super) shown: String,
    pub(super) text: String,
    /// Relative paths written in this document start here.
    pub(super) dir: PathBuf,
    /// Reading order: bases first, then the file, then the overrides.
    pub(super) order: usize,
    pub(super) kind: DocumentKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DocumentKind {
    File,
    /// `-s`, counted from one.
    Override(usize),
}

/// The location of a value in a config, or that it is a default.
#[derive(Clone, Debug)]
pub enum Origin {
    /// Written by the user, at these bytes of this document.
    Written {
        /// The text that contains it.
        document: Arc<Document>,
        /// The bytes of that text.
        span: Range<usize>,
    },
    /// Filled in from a parameter's description.
    Default,
}

impl Origin {
    pub(super) fn at(document: &Arc<Document>, span: Range<usize>) -> Self {
        Self::Written { document: Arc::clone(document), span }
    }

    pub(super) fn document(&self) -> Option<&Arc<Document>> {
        match self {
            Self::Written { document, .. } => Some(document),
            Self::Default => None,
        }
    }

    /// Sorts errors the way a reader meets them: by document, then from top to bottom.
    pub(super) fn reading_position(&self) -> (usize, usize) {
        match self {
            Self::Written { document, span } => (document.order, span.start),
            Self::Default => (usize::MAX, 0),
        }
    }
}

/// `configs/quickstart.toml:12`, `-s 2` or `default`.
impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::Written { document, span } => match document.kind {
                DocumentKind::Override(number) => write!(f, "{} {number}", document.shown),
                DocumentKind::File => {
                    write!(f, "{}:{}", document.shown, document.line_of(span.start))
                }
            },
        }
    }
}

impl Document {
    /// The line that holds the byte at `offset`, counted from one.
    pub(super) fn line_of(&self, offset: usize) -> usize {
        let before = self.text.get(..offset).unwrap_or(&self.text);
        1 + before.matches('\n').count()
    }
}

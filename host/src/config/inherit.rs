//! `_base_`: reads the files that a file inherits from and merges it over them.

use std::path::{Path, PathBuf};

use super::error::{ConfigError, ConfigErrors, Fault};
use super::fixed::BASE;
use super::merge::{inside, merge};
use super::origin::Origin;
use super::parse::parse_document;
use super::read::{clean, physical, read, reason};
use super::tree::{Item, Node};

/// Deeper than any real hierarchy, and shallow enough not to overflow the stack.
const DEEPEST: usize = 16;

/// Otherwise bases that are named repeatedly could be read exponentially often.
const MOST_FILES: usize = 256;

/// Reads files and remembers which are being read.
pub(super) struct Reader {
    /// The files from the one on the command line down to the one being read: canonical path and displayed path.
    chain: Vec<(PathBuf, String)>,
    /// The number of documents read so far.
    pub(super) read: usize,
}

impl Reader {
    pub(super) fn new() -> Self {
        Self { chain: Vec::new(), read: 0 }
    }

    /// The tree of the file at `path`, merged over those of its bases.
    pub(super) fn load(&mut self, path: &Path, shown: &str) -> Result<Node, ConfigErrors> {
        let document = read(path, shown.to_owned(), self.read)?;
        self.read += 1;
        tracing::debug!("read config file {}", path.display());
        let mut tree = parse_document(&document)?;
        let bases = take_bases(&mut tree)?;
        self.chain.push((path.to_owned(), shown.to_owned()));
        let mut under: Option<Node> = None;
        for base in &bases {
            let base = self.load_base(base, &document.dir)?;
            under = Some(match under {
                Some(under) => merge(under, base),
                None => base,
            });
        }
        self.chain.pop();
        Ok(match under {
            Some(under) => merge(under, tree),
            None => tree,
        })
    }

    fn load_base(&mut self, base: &NamedBase, dir: &Path) -> Result<Node, ConfigErrors> {
        let unreadable = |why: String| {
            ConfigError::at(&base.at, Fault::BaseUnreadable { path: base.path.clone(), why })
        };
        let path = physical(&dir.join(&base.path)).map_err(|why| unreadable(reason(&why)))?;
        let kind = path.metadata().map_err(|why| unreadable(reason(&why)))?.file_type();
        if !kind.is_file() {
            let why = if kind.is_dir() { "it is a folder" } else { "it is not a regular file" };
            return Err(unreadable(why.into()).into());
        }
        self.may_be_read(&path, &base.at)?;
        self.load(&path, &self.shown_beside(&base.path))
    }

    /// Refuses cycles, and unreasonably deep or large hierarchies.
    fn may_be_read(&self, path: &Path, at: &Origin) -> Result<(), ConfigError> {
        if let Some(start) = self.chain.iter().position(|(open, _)| *open == path) {
            let mut chain: Vec<_> =
                self.chain[start..].iter().map(|(_, shown)| shown.clone()).collect();
            chain.extend(chain.first().cloned());
            return Err(ConfigError::at(at, Fault::BaseCycle { chain }));
        }
        if self.chain.len() > DEEPEST {
            return Err(ConfigError::at(at, Fault::BaseTooDeep { limit: DEEPEST }));
        }
        if self.read >= MOST_FILES {
            return Err(ConfigError::at(at, Fault::BaseTooMany { limit: MOST_FILES }));
        }
        Ok(())
    }

    /// The displayed path of a base, relative like that of the file that names it.
    fn shown_beside(&self, base: &str) -> String {
        let beside = self.chain.last().and_then(|(_, shown)| Path::new(shown).parent());
        clean(&beside.unwrap_or(Path::new("")).join(base)).display().to_string()
    }
}

struct NamedBase {
    path: String,
    at: Origin,
}

/// Removes `_base_` from a tree; an error if it is not at the top level.
fn take_bases(tree: &mut Node) -> Result<Vec<NamedBase>, ConfigErrors> {
    let Item::Table(table) = &mut tree.item else { return Ok(Vec::new()) };
    let mut errors = ConfigErrors::default();
    for entry in table.entries.iter().filter(|entry| entry.key != BASE) {
        find_misplaced(&entry.node, &inside("", &entry.key), &mut errors);
    }
    let at = table.entries.iter().position(|entry| entry.key == BASE);
    let bases =
        at.map(|at| table.entries.remove(at)).map(|entry| bases_of(entry.node, &mut errors));
    errors.or(Some(bases.unwrap_or_default()))
}

fn bases_of(node: Node, errors: &mut ConfigErrors) -> Vec<NamedBase> {
    let nodes = match node.item {
        Item::List(nodes) => nodes,
        item => vec![Node { item, origin: node.origin }],
    };
    let mut bases = Vec::new();
    for node in nodes {
        let found = node.kind();
        match node.item {
            Item::Str(path) => bases.push(NamedBase { path, at: node.origin }),
            _ => errors.add(&node.origin, Fault::BaseNotPath { found }),
        }
    }
    bases
}

fn find_misplaced(node: &Node, shown: &str, errors: &mut ConfigErrors) {
    match &node.item {
        Item::Table(table) => {
            for entry in &table.entries {
                if entry.key == BASE {
                    let table = shown.to_owned();
                    errors.add(&entry.key_origin, Fault::BaseMisplaced { table });
                }
                find_misplaced(&entry.node, &inside(shown, &entry.key), errors);
            }
        }
        Item::List(nodes) => nodes.iter().for_each(|node| find_misplaced(node, shown, errors)),
        _ => {}
    }
}

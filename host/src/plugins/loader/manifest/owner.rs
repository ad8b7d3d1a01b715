//! The hook or metric whose manifest is being read, and the checks whose messages name it.

use super::super::text::one_line;
use super::ManifestError;
use hookrack_plugin_api::Point;
use hookrack_plugin_api::name::nearest;
use serde::Deserialize;
use std::fmt;

/// Whose manifest is read. A library newer than the host may use words that the host does not know; in any other such
/// words are typos.
pub(crate) struct ManifestOwner<'a> {
    /// "hook" or "metric".
    pub(crate) kind: &'static str,
    /// The name in its table.
    pub(crate) name: &'a str,
    /// Whether its table is of a newer minor version.
    pub(crate) newer: bool,
}

impl ManifestOwner<'_> {
    pub(super) fn json<'t, T: Deserialize<'t>>(&self, text: &'t str) -> Result<T, ManifestError> {
        serde_json::from_str(text).map_err(|error| ManifestError::Json {
            owner: self.to_string(),
            cause: one_line(&error.to_string()),
        })
    }

    pub(super) fn check_name(&self, says: Option<String>) -> Result<(), ManifestError> {
        match says {
            Some(says) if says != self.name => {
                Err(ManifestError::Name { owner: self.to_string(), says: one_line(&says) })
            }
            _ => Ok(()),
        }
    }

    /// The points of these names, each once, and the names that only a newer host knows.
    pub(super) fn points(
        &self,
        names: Vec<String>,
    ) -> Result<(Vec<Point>, Vec<String>), ManifestError> {
        let (mut points, mut unknown) = (Vec::new(), Vec::new());
        for name in names {
            match Point::from_name(&name) {
                Some(point) if points.contains(&point) => {}
                Some(point) => points.push(point),
                None if self.newer => {
                    tracing::debug!("{self} uses {name}, a point that this host does not have");
                    unknown.push(name);
                }
                None => {
                    let owner = self.to_string();
                    let nearest = nearest_point(&name);
                    return Err(ManifestError::Point { owner, point: one_line(&name), nearest });
                }
            }
        }
        Ok((points, unknown))
    }

    /// The meaning of a word; `None` for an empty one, and for one that only a newer host knows.
    pub(super) fn word<T>(
        &self,
        key: &'static str,
        word: &str,
        expected: &'static str,
        meaning: impl Fn(&str) -> Option<T>,
    ) -> Result<Option<T>, ManifestError> {
        let known = meaning(word);
        if known.is_some() || word.is_empty() || self.newer {
            return Ok(known);
        }
        let (owner, says) = (self.to_string(), one_line(word));
        Err(ManifestError::Word { owner, key, says, expected })
    }
}

impl fmt::Display for ManifestOwner<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} `{}`", self.kind, self.name)
    }
}

fn nearest_point(name: &str) -> &'static str {
    let names = Point::ALL.iter().map(|point| point.name());
    nearest(name, names).unwrap_or("before_run")
}

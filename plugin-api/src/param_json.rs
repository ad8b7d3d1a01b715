//! A parameter as the manifest writes it.

use crate::describe::{Param, ParamType, Presence};
use crate::value::{write_json_items, write_json_text};

impl Param {
    /// Writes the parameter as an object of the manifest.
    pub(crate) fn write_json(&self, out: &mut String) {
        use std::fmt::Write as _;
        out.push_str("{\"name\":");
        write_json_text(&self.name, out);
        if !self.aliases.is_empty() {
            out.push_str(",\"aliases\":");
            write_json_items('[', ']', self.aliases.iter(), out, |alias, out| {
                write_json_text(alias, out);
            });
        }
        out.push_str(",\"doc\":");
        write_json_text(&self.doc, out);
        out.push_str(",\"type\":");
        self.ty.write_json(out);
        match &self.presence {
            Presence::Required => out.push_str(",\"required\":true"),
            Presence::Optional => {}
            Presence::Default(value) => {
                out.push_str(",\"default\":");
                value.write_json(out);
            }
        }
        for (key, bound) in [("min", self.min), ("max", self.max)] {
            if let Some(bound) = bound.filter(|bound| bound.is_finite()) {
                _ = write!(out, ",\"{key}\":{bound:?}");
            }
        }
        // JSON has no infinity, and a host that does not know this key passes over it.
        if self.takes_infinity() {
            out.push_str(",\"infinite\":true");
        }
        out.push('}');
    }
}

impl ParamType {
    fn write_json(&self, out: &mut String) {
        match self {
            Self::Bool => out.push_str("\"bool\""),
            Self::Int => out.push_str("\"int\""),
            Self::Float => out.push_str("\"float\""),
            Self::Str => out.push_str("\"string\""),
            Self::Path => out.push_str("\"path\""),
            Self::Monitor => out.push_str("\"monitor\""),
            Self::Model => out.push_str("\"model\""),
            Self::Any => out.push_str("\"any\""),
            Self::OneOf(names) => {
                out.push_str("{\"one_of\":");
                write_json_items('[', ']', names.iter(), out, |name, out| {
                    write_json_text(name, out);
                });
                out.push('}');
            }
            Self::List(item) => {
                out.push_str("{\"list\":");
                item.write_json(out);
                out.push('}');
            }
            Self::Table(params) => {
                out.push_str("{\"table\":");
                write_json_items('[', ']', params.iter(), out, Param::write_json);
                out.push('}');
            }
        }
    }
}

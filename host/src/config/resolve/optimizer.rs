//! `[optimizer]`: its type, and the groups that it steps parameters in.

use super::Resolver;
use crate::config::fixed;
use crate::config::resolved::{Component, GroupEntry, ParamGroups};
use crate::config::tree::Table;

impl Resolver<'_> {
    pub(super) fn optimizer(&mut self) -> Option<(Component, ParamGroups)> {
        let (component, shared) = self.component_and_shared(&fixed::OPTIMIZER)?;
        Some((component, groups(&shared)?))
    }
}

fn groups(shared: &Table) -> Option<ParamGroups> {
    let group = |table: &Table| {
        Some(GroupEntry {
            pattern: table.str("match")?.to_owned(),
            lr_scale: table.float("lr_scale")?,
            weight_decay: table.float("weight_decay"),
        })
    };
    Some(ParamGroups {
        groups: shared.tables("groups").map(group).collect::<Option<_>>()?,
        no_decay_on_norm_and_bias: shared.bool("no_decay_on_norm_and_bias")?,
    })
}

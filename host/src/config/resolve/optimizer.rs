//! `[optimizer]`: its type, and the groups that it steps parameters in.

use super::Resolver;
use crate::config::fixed;
use crate::config::origin::Origin;
use crate::config::sections::ParamGroups;
use hookrack_plugin_api::Choice;

impl Resolver<'_> {
    pub(super) fn optimizer(&mut self) -> Option<(Choice, ParamGroups)> {
        let (component, shared) = self.component_and_shared(&fixed::OPTIMIZER)?;
        let at =
            self.file.root.node("optimizer").map_or(Origin::Default, |node| node.origin.clone());
        let groups = self.read("optimizer", &shared, &at)?;
        Some((component, groups))
    }
}

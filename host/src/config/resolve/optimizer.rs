//! `[optimizer]`: its type, and the groups that it steps parameters in.

use super::Resolver;
use crate::config::fixed;
use crate::config::resolved::Component;
use crate::config::sections::ParamGroups;

impl Resolver<'_> {
    pub(super) fn optimizer(&mut self) -> Option<(Component, ParamGroups)> {
        let (component, shared) = self.component_and_shared(&fixed::OPTIMIZER)?;
        let groups = self.read("optimizer", &shared, &component.origin)?;
        Some((component, groups))
    }
}

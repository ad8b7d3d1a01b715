//! Which calls a hook may make, given its manifest and the current point. Every error states the rule.

use super::endpoint::Endpoint;
use crate::context::RunParts;

impl Endpoint {
    /// Rejects a change of a part of the run that the hook does not declare. `by` names the call.
    pub(super) fn check_declared(
        &self,
        part: RunParts,
        by: impl FnOnce() -> String,
    ) -> Result<(), String> {
        if part.is_empty() {
            return Ok(());
        }
        let role = self.point().map_or(RunParts::NONE, RunParts::of_role);
        let missing = part.beyond(self.mutates | role);
        if missing.is_empty() {
            return Ok(());
        }
        let (by, words) = (by(), missing.words(", "));
        Err(if self.is_metric {
            format!(
                "{by} would change {missing}: a metric must not change the run; copy the tensor first"
            )
        } else if missing.meets(RunParts::LAYER) {
            format!("{by} would change {missing}, which is read-only: copy the tensor first")
        } else {
            format!(
                "{by} would change {missing}, which the hook does not declare: add {words} to its `mutates`, or copy the tensor \
                 first"
            )
        })
    }

    /// Rejects a function of the engine, unless the hook has a role or declares one of `parts`.
    pub(super) fn check_engine(&self, function: &str, parts: RunParts) -> Result<(), String> {
        let has_role = self.point().is_some_and(hookrack_plugin_api::Point::is_role);
        if has_role || self.mutates.meets(parts) {
            return Ok(());
        }
        Err(format!(
            "{function} changes {parts}: it is only allowed in a role (on_train_forward and the like) or in a hook with {} \
             in its `mutates`",
            parts.words(" or ")
        ))
    }

    /// Rejects an operator that would replace the memory or the shape of a tensor of the run, or of memory that is borrowed.
    pub(super) fn check_moves(
        &self,
        name: &str,
        part: RunParts,
        storage: usize,
    ) -> Result<(), String> {
        if !part.is_empty() {
            return Err(format!(
                "`{name}` would resize {part} or replace its memory: tensors of the run can be written to in place, not replaced"
            ));
        }
        if self.has_viewed(storage) {
            return Err(format!(
                "`{name}` would move memory that the hook has borrowed by view(): call it at the next point, or copy the elements \
                 first"
            ));
        }
        Ok(())
    }
}

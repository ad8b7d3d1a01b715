//! The settings that all pipeline schedules have in common.

use hookrack_plugin_api::prelude::Settings;

/// The number of stages and micro-batches of a pipeline.
#[derive(Debug, Clone, Copy, Settings)]
pub struct PipelineSize {
    /// Number of pipeline stages, each on its own rank.
    #[param(default = 2, min = 1, max = 1024)]
    pub stages: u32,
    /// Micro-batches per batch. Must divide the batch size.
    #[param(default = 8, min = 1, max = 65536)]
    pub microbatches: u32,
}

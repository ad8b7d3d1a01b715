//! The list of all extensions: services that a host may offer in addition to the tables of the handle.

use super::{
    ARTIFACTS, AUTOGRAD, ArtifactTable, AutogradTable, CHECKPOINT_NAMES, CHECKPOINTS, CONSOLE,
    CheckpointNameTable, CheckpointTable, ConsoleTable, FILES, FileTable, GRADIENTS, GradientTable,
    HISTORY, HistoryTable, LAYERS, LOSS, LR, LayerTable, LossTable, LrTable, MEDIA, METRICS,
    MODELS, MediaTable, MetricTable, ModelTable, NAMED_TENSORS, NamedTensorTable, PARAMS, PASS,
    PRECISION, PROFILER, ParamTable, PassTable, PrecisionTable, ProfilerTable, RANKS, RECORD,
    ROLES, RankTable, RecordTable, RoleTable, STEP, StepTable,
};

/// A table that is looked up by an id. The id belongs to the type: under it a host returns this table or null.
pub trait Extension: Sized + 'static {
    /// The id, such as `hookrack.step/1`.
    const ID: &'static str;
    /// The first minor version of the ABI whose hosts have it.
    const SINCE: u16;
    /// Its place in [`EXTENSIONS`].
    const INDEX: usize;
}

/// An extension, for who lists them all.
#[derive(Clone, Copy, Debug)]
pub struct ExtensionInfo {
    /// The name of the constant that holds the id.
    pub name: &'static str,
    /// The type of the table.
    pub table: &'static str,
    /// The id.
    pub id: &'static str,
}

macro_rules! extensions {
    ($($name:ident $table:ident $since:literal,)*) => {
        /// Every extension of this version.
        pub const EXTENSIONS: &[ExtensionInfo] = &[$(ExtensionInfo {
            name: stringify!($name),
            table: stringify!($table),
            id: $name,
        }),*];

        #[expect(clippy::enum_variant_names, reason = "named like the tables")]
        enum Index { $($table),* }

        $(impl Extension for $table {
            const ID: &'static str = $name;
            const SINCE: u16 = $since;
            const INDEX: usize = Index::$table as usize;
        })*
    };
}

// Id, table, and the minor version that brought it.
extensions! {
    ARTIFACTS ArtifactTable 0,
    AUTOGRAD AutogradTable 2,
    CHECKPOINT_NAMES CheckpointNameTable 1,
    CHECKPOINTS CheckpointTable 1,
    CONSOLE ConsoleTable 1,
    FILES FileTable 2,
    GRADIENTS GradientTable 2,
    HISTORY HistoryTable 1,
    LAYERS LayerTable 2,
    LOSS LossTable 2,
    LR LrTable 1,
    MEDIA MediaTable 1,
    METRICS MetricTable 1,
    MODELS ModelTable 2,
    NAMED_TENSORS NamedTensorTable 2,
    PARAMS ParamTable 1,
    PASS PassTable 1,
    PRECISION PrecisionTable 1,
    PROFILER ProfilerTable 1,
    RANKS RankTable 2,
    RECORD RecordTable 2,
    ROLES RoleTable 2,
    STEP StepTable 1,
}

//! The files of a run: its directory, its record, its checkpoints.

pub mod atomic;
pub mod checkpoint;
pub mod data_files;
mod differences;
mod directory;
mod error;
pub mod fingerprints;
mod inside;
pub mod json_file;
mod json_value;
mod lock;
pub mod named_tensors;
mod past_run;
mod predictions;
mod record;
pub mod safetensors_file;
pub mod safetensors_shards;
pub mod torch_file;

pub use differences::{Difference, differences};
pub use directory::RunDir;
pub use error::RunDirError;
pub use inside::{PathError, check_path, hook_file, is_inside};
pub use json_value::{from_json, to_json};
pub use lock::RunLock;
pub use past_run::{COMPLETED, PastRun};
pub use predictions::{PredictionFormat, Predictions};
pub use record::Record;

//! What a run leaves behind: its directory, its record, its checkpoints.

pub mod atomic;
pub mod checkpoint;
mod directory;
mod error;
mod json_value;
mod record;
pub mod safetensors_file;

pub use directory::RunDir;
pub use error::RunDirError;
pub use record::Record;

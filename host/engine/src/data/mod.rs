//! Data: data sets that write samples by number into a batch, the order they are drawn in, and the loader between them.

mod array;
mod array_pair;
mod cifar10;
mod collate;
mod csv;
mod digits;
mod file_bytes;
mod idx_file;
mod idx_images;
mod image_folder;
mod loader;
mod npy;
mod npy_file;
mod permutation;
mod prng;
mod safetensors;
mod sample_buffer;
mod sampler;
mod share;
mod spec;
mod split;
mod subset;
mod synthetic;
mod text;
mod tokens;
pub mod transform;
mod vocabulary;
mod windows;
mod workers;

use tch::Tensor;

pub use cifar10::{Cifar10, Cifar10Settings};
pub use csv::{Csv, CsvSettings, CsvTarget};
pub use digits::{Digits, DigitsSettings};
pub use idx_images::{IdxImages, IdxImagesSettings};
pub use image_folder::{ImageFolder, ImageFolderSettings};
pub use loader::{Division, Loader, LoaderSettings};
pub use npy::{NpySettings, NpzSettings};
pub use prng::Prng;
pub use safetensors::SafetensorsSettings;
pub use sample_buffer::SampleBuffer;
pub use sampler::{Order, Sampler};
pub use share::{Rank, Share};
pub use spec::{DataSpec, Target};
pub use split::{Split, TrainTest};
pub use subset::Subset;
pub use synthetic::{Synthetic, SyntheticSettings};
pub use text::{Text, TextSettings, Unit};
pub use tokens::{Tokens, TokensSettings};
pub use vocabulary::Vocabulary;

use super::error::Result;
use super::registry::{Built, ComponentKind, Entry};
use hookrack_torch::shape;

/// A batch of samples; the first dimension of both tensors is the sample.
#[derive(Debug)]
pub struct Batch {
    /// What goes into the model.
    pub input: Tensor,
    /// The target.
    pub label: Tensor,
}

impl Batch {
    /// Number of samples.
    pub fn rows(&self) -> i64 {
        shape::side(&self.input, 0).unwrap_or(0)
    }

    /// The rows of several batches, one after the other, in memory of their own.
    pub fn joined(batches: &[Self]) -> Result<Self> {
        let all = |of: fn(&Self) -> &Tensor| {
            Tensor::f_cat(&batches.iter().map(of).collect::<Vec<_>>(), 0)
        };
        Ok(Self { input: all(|batch| &batch.input)?, label: all(|batch| &batch.label)? })
    }

    /// Some of the rows, sharing the memory.
    pub fn narrow(&self, start: i64, rows: i64) -> Result<Self> {
        Ok(Self {
            input: self.input.f_narrow(0, start, rows)?,
            label: self.label.f_narrow(0, start, rows)?,
        })
    }
}

/// A data set with random access, from several threads at once.
pub trait Dataset: Send + Sync {
    /// Number of samples.
    fn len(&self) -> usize;

    /// What the samples look like.
    fn spec(&self) -> DataSpec;

    /// Writes the sample with this index to its place in a batch: all of its input and all of its label, in the
    /// shape that [`spec`](Self::spec) returns. Must not call libtorch: it runs on the loader's threads.
    fn read(&self, index: usize, sample: &mut SampleBuffer<'_>) -> Result<()>;

    /// Whether all samples read so far were valid; called once after each batch.
    ///
    /// # Errors
    /// A file was truncated after it was opened: what was read from it must not be used.
    fn check(&self) -> Result<()> {
        Ok(())
    }

    /// Whether some labels are ignored by the loss. Such samples cannot be mixed with others.
    fn has_ignored(&self) -> bool {
        false
    }

    /// The byte that becomes 1.0, if inputs are bytes.
    fn brightest(&self) -> u8 {
        u8::MAX
    }

    /// The vocabulary, if inputs are tokens.
    fn vocabulary(&self) -> Vocabulary<'_> {
        Vocabulary::Ids
    }

    /// The names of the classes in the order of their indices; empty if they have none.
    fn class_names(&self) -> &[String] {
        &[]
    }

    /// Whether it has no samples.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The samples with these indices, in this order, in new tensors.
    fn batch(&self, indices: &[usize]) -> Result<Batch> {
        collate::batch(self, indices)
    }
}

impl Built for dyn Dataset {
    const KIND: ComponentKind = ComponentKind::Dataset;
}

/// Every data set that a config can name.
pub static DATASETS: &[Entry<(), dyn Dataset>] = &[
    Entry::of::<Cifar10Settings>(),
    Entry::of::<CsvSettings>(),
    Entry::of::<DigitsSettings>(),
    Entry::of::<IdxImagesSettings>(),
    Entry::of::<ImageFolderSettings>(),
    Entry::of::<NpySettings>(),
    Entry::of::<NpzSettings>(),
    Entry::of::<SafetensorsSettings>(),
    Entry::of::<SyntheticSettings>(),
    Entry::of::<TextSettings>(),
    Entry::of::<TokensSettings>(),
];

/// Checks that a list of classes names each once: no sample would be of the second one.
fn check_names(classes: &[String]) -> std::result::Result<(), String> {
    let repeated = (1..classes.len()).find(|at| classes[..*at].contains(&classes[*at]));
    repeated.map_or(Ok(()), |at| {
        Err(format!("`{}` is listed twice, and each class needs a name of its own", classes[at]))
    })
}

/// A count as libtorch's `i64`.
fn size(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

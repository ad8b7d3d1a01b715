//! Images, histograms and texts for the writers.

use super::Trainer;
use crate::error::Result;
use crate::tensor::Tensor;

/// Images, histograms and texts (extension `hookrack.media/1`). Names are prefixed as those of scalars.
///
/// They wait in memory until the writers next write, or until a checkpoint is taken; beyond 512 the oldest are
/// dropped. Only rank 0 has writers. A host before ABI 1.1 returns an error.
impl Trainer {
    /// Returns whether a writer is open that shows images and histograms, such as TensorBoard. Without one
    /// they are discarded, so check this before an expensive computation.
    ///
    /// False on a rank other than 0, in a run without a directory, and on a host before ABI 1.1.
    pub fn is_media_wanted(&self) -> bool {
        self.host.is_media_wanted()
    }

    /// Logs an image of shape `[height, width]` or `[channels, height, width]` with 1, 3 or 4 channels, as
    /// bytes or as floats from 0 to 1.
    ///
    /// Numbers outside of that range are clamped, and NaN is 0. Copies the tensor to the CPU, which waits for
    /// the device; without a writer that shows images it does neither. TensorBoard stores it as PNG, compressed on
    /// the training thread when the writers write.
    ///
    /// # Errors
    /// The name is empty, or the tensor has another shape.
    pub fn put_image(&mut self, name: &str, image: &Tensor) -> Result<()> {
        self.host.put_image(name, image.id())
    }

    /// Logs a histogram of a tensor's values with `bins` bins of equal width; values that are not finite are
    /// ignored. Waits for the device.
    ///
    /// The bins lie between the smallest and the largest value. Goes through the tensor several times and
    /// reads several numbers; without a writer that shows histograms it does nothing. A tensor without a finite value
    /// gives no histogram.
    ///
    /// # Errors
    /// The name is empty, there are more than 65536 bins, or libtorch does not compute histograms of this
    /// dtype.
    pub fn put_histogram(&mut self, name: &str, values: &Tensor, bins: usize) -> Result<()> {
        self.host.put_histogram(name, values.id(), bins)
    }

    /// Logs a text, which TensorBoard shows as Markdown.
    ///
    /// The console prints it under its name. It is copied, and kept even without TensorBoard.
    ///
    /// # Errors
    /// The name is empty.
    pub fn put_text(&mut self, name: &str, text: &str) -> Result<()> {
        self.host.put_text(name, text)
    }

    /// Opens a writer for the rest of the run; call it in `before_run`.
    ///
    /// | kind | `folder` |
    /// |---|---|
    /// | `json` | a folder inside the run directory |
    /// | `evaluations` | a file inside the run directory |
    /// | `tensorboard` | a folder, absolute or relative to the run directory |
    ///
    /// An empty `folder` is the default of the kind. The writer writes whenever scalars are written. A second
    /// call with the same folder does nothing, also one of another hook; so does a call in a run without a
    /// directory or on a rank other than 0. In a resumed run, what the files have beyond the checkpoint is
    /// removed.
    ///
    /// # Errors
    /// The kind is unknown, or open in another folder; the path is outside of the run directory or one that
    /// the run itself writes; or the file cannot be created.
    pub fn open_writer(&mut self, kind: &str, folder: &str) -> Result<()> {
        self.host.open_writer(kind, folder)
    }
}

//! Images, histograms and texts for the writers.

use super::Trainer;
use crate::error::Result;
use crate::tensor::Tensor;

/// Images, histograms and texts (extension `hookrack.media/1`). Names are prefixed as those of scalars.
impl Trainer {
    /// Whether a writer is open that shows images and histograms, such as TensorBoard. Without one they are discarded, so check this before an expensive computation.
    pub fn is_media_wanted(&self) -> bool {
        self.host.is_media_wanted()
    }

    /// Logs an image of shape `[height, width]` or `[channels, height, width]` with 1, 3 or 4 channels, as bytes or as floats from 0 to 1.
    ///
    /// Copies the tensor to the CPU, which waits for the device.
    ///
    /// # Errors
    /// The tensor has another shape.
    pub fn put_image(&mut self, name: &str, image: &Tensor) -> Result<()> {
        self.host.put_image(name, image.id())
    }

    /// Logs a histogram of a tensor's values with `bins` bins of equal width; values that are not finite are ignored. Waits for the device.
    pub fn put_histogram(&mut self, name: &str, values: &Tensor, bins: usize) -> Result<()> {
        self.host.put_histogram(name, values.id(), bins)
    }

    /// Logs a text, which TensorBoard shows as Markdown.
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
    /// An empty `folder` is the default of the kind. The writer writes whenever scalars are written.
    ///
    /// # Errors
    /// The kind is unknown, the path is outside of the run directory, or the file cannot be created.
    pub fn open_writer(&mut self, kind: &str, folder: &str) -> Result<()> {
        self.host.open_writer(kind, folder)
    }
}

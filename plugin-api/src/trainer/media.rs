//! Pictures, histograms and texts for the writers.

use super::Trainer;
use crate::error::Result;
use crate::tensor::Tensor;

/// What a run shows beside scalars. A host of plugin-api 1.0 shows none: each of these says so. Names are scoped like
/// those of scalars.
impl Trainer {
    /// Whether any writer takes pictures and histograms. Where none does, do not bother to make one.
    pub fn is_media_wanted(&self) -> bool {
        self.host.is_media_wanted()
    }

    /// Puts a picture: height by width, or 1, 3 or 4 channels by height by width, in bytes or in numbers from 0 to 1.
    /// Copies it from the device.
    pub fn put_image(&mut self, name: &str, image: &Tensor) -> Result<()> {
        self.host.put_image(name, image.id())
    }

    /// Puts how a tensor's numbers are distributed over `bins` ranges of equal width. What is not finite does not
    /// count. Waits for the device.
    pub fn put_histogram(&mut self, name: &str, values: &Tensor, bins: usize) -> Result<()> {
        self.host.put_histogram(name, values.id(), bins)
    }

    /// Puts a text; writers that can show it as Markdown.
    pub fn put_text(&mut self, name: &str, text: &str) -> Result<()> {
        self.host.put_text(name, text)
    }

    /// Opens a writer; call it in `before_run`. `json` takes a folder inside the run directory, `evaluations` a file inside it, `tensorboard` a folder
    /// that is absolute or relative to the run directory; empty for the kind's own choice. The writer takes part
    /// whenever scalars are written.
    pub fn open_writer(&mut self, kind: &str, folder: &str) -> Result<()> {
        self.host.open_writer(kind, folder)
    }
}

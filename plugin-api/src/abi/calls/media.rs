//! Images, histograms, texts, and writers.

use super::Host;
use super::wire::call;
use crate::abi::{HrTensor, MediaTable};
use crate::error::Result;

impl Host {
    /// Whether any writer shows images and histograms.
    pub fn is_media_wanted(self) -> bool {
        // SAFETY: a valid handle is all it needs.
        self.find::<MediaTable>().is_some_and(|table| unsafe { (table.is_wanted)(self.raw()) } != 0)
    }

    /// Logs an image.
    pub fn put_image(self, name: &str, image: HrTensor) -> Result<()> {
        call!(self, self.require::<MediaTable>()?, put_image(name, image))
    }

    /// Logs a histogram.
    pub fn put_histogram(self, name: &str, values: HrTensor, bins: usize) -> Result<()> {
        call!(self, self.require::<MediaTable>()?, put_histogram(name, values, bins))
    }

    /// Logs a text.
    pub fn put_text(self, name: &str, text: &str) -> Result<()> {
        call!(self, self.require::<MediaTable>()?, put_text(name, text))
    }

    /// Opens a writer.
    pub fn open_writer(self, kind: &str, folder: &str) -> Result<()> {
        call!(self, self.require::<MediaTable>()?, open_writer(kind, folder))
    }
}

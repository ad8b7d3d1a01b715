//! Pictures, histograms, texts, and who writes them.

use super::Host;
use crate::abi::{HrStr, HrTensor, MEDIA, MediaTable};
use crate::error::{Error, Result};

impl Host {
    fn media(self) -> Option<&'static MediaTable> {
        // SAFETY: under this id a host hands out this very table, valid for the process.
        unsafe { self.extension(MEDIA).cast::<MediaTable>().as_ref() }
    }

    fn media_or_error(self) -> Result<&'static MediaTable> {
        self.media().ok_or_else(|| {
            Error::new(format!("this host is older than `{MEDIA}`: it shows scalars alone"))
        })
    }

    /// Whether any writer takes pictures and histograms.
    pub fn is_media_wanted(self) -> bool {
        // SAFETY: a valid handle is all it needs.
        self.media().is_some_and(|table| unsafe { (table.is_wanted)(self.raw()) } != 0)
    }

    /// Puts a picture.
    pub fn put_image(self, name: &str, image: HrTensor) -> Result<()> {
        let table = self.media_or_error()?;
        // SAFETY: the name is lent until the call returns.
        self.check(unsafe { (table.put_image)(self.raw(), HrStr::new(name), image) })
    }

    /// Puts a histogram.
    pub fn put_histogram(self, name: &str, values: HrTensor, bins: usize) -> Result<()> {
        let table = self.media_or_error()?;
        // SAFETY: the name is lent until the call returns.
        self.check(unsafe { (table.put_histogram)(self.raw(), HrStr::new(name), values, bins) })
    }

    /// Puts a text.
    pub fn put_text(self, name: &str, text: &str) -> Result<()> {
        let table = self.media_or_error()?;
        // SAFETY: both texts are lent until the call returns.
        self.check(unsafe { (table.put_text)(self.raw(), HrStr::new(name), HrStr::new(text)) })
    }

    /// Has a writer opened.
    pub fn open_writer(self, kind: &str, folder: &str) -> Result<()> {
        let table = self.media_or_error()?;
        // SAFETY: both texts are lent until the call returns.
        self.check(unsafe { (table.open_writer)(self.raw(), HrStr::new(kind), HrStr::new(folder)) })
    }
}

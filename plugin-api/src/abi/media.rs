//! The extension for logging images, histograms and texts, and for opening writers.

use super::{HrHeader, HrStatus, HrStr, HrTensor};
use abi_stable::StableAbi;
use std::ffi::c_void;

/// The id under which a host offers it.
pub const MEDIA: &str = "hookrack.media/1";

/// Images, histograms and texts. Names are prefixed as those of scalars.
#[repr(C)]
#[derive(StableAbi)]
pub struct MediaTable {
    /// The header: magic, size and version of the side that made the table.
    pub header: HrHeader,
    /// Whether a writer shows images and histograms: 0 or 1. Otherwise they are discarded. [train-thread]
    pub is_wanted: unsafe extern "C" fn(host: *mut c_void) -> u32,
    /// Logs an image of shape [height, width] or [channels, height, width] with 1, 3 or 4 channels, as bytes or as floats
    /// from 0 to 1. Copies it. [train-thread] [borrowed until return]
    pub put_image:
        unsafe extern "C" fn(host: *mut c_void, name: HrStr, image: HrTensor) -> HrStatus,
    /// Logs a histogram of a tensor's values with `bins` bins of equal width; values that are not finite are ignored.
    /// [train-thread] [borrowed until return]
    pub put_histogram: unsafe extern "C" fn(
        host: *mut c_void,
        name: HrStr,
        values: HrTensor,
        bins: usize,
    ) -> HrStatus,
    /// Logs a text, which TensorBoard shows as Markdown. [train-thread] [borrowed until return]
    pub put_text: unsafe extern "C" fn(host: *mut c_void, name: HrStr, text: HrStr) -> HrStatus,
    /// Opens a writer of a kind, such as `tensorboard`, in `folder` of the run directory (empty for the kind's
    /// default). Does nothing if it is already open. Call it before training starts. [train-thread]
    /// [borrowed until return]
    pub open_writer:
        unsafe extern "C" fn(host: *mut c_void, kind: HrStr, folder: HrStr) -> HrStatus,
}

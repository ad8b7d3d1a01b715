//! Converts tensors to images and histograms.

use super::{Histogram, Image};
use tch::{Kind, TchError, Tensor};

/// Why a tensor is not a valid image or histogram.
#[derive(Debug, thiserror::Error)]
pub enum ShowError {
    /// It has another shape.
    #[error(
        "an image must have shape [height, width], or [channels, height, width] with 1, 3 or 4 channels, not {0:?}"
    )]
    Shape(Vec<i64>),
    /// Too many bins.
    #[error("a histogram can have up to {MOST_BINS} bins, not {0}")]
    Bins(usize),
    /// libtorch refused.
    #[error(transparent)]
    Torch(#[from] TchError),
}

/// The maximum number of bins: each takes two numbers in memory and on disk, for every histogram logged.
const MOST_BINS: usize = 1 << 16;

/// An image, copied to the CPU: bytes as they are, other numbers from 0 to 1. NaN is black.
pub fn image(tensor: &Tensor) -> Result<Image, ShowError> {
    let shape = tensor.size();
    let wrong = || ShowError::Shape(shape.clone());
    let (channels, height, width) = match *shape.as_slice() {
        [height, width] => (1, height, width),
        [channels @ (1 | 3 | 4), height, width] => (channels, height, width),
        _ => return Err(wrong()),
    };
    let (Ok(width), Ok(height)) = (u32::try_from(width), u32::try_from(height)) else {
        return Err(wrong());
    };
    // A dtype unknown to tch is treated like any other that is not bytes.
    let is_bytes = tensor.f_kind().is_ok_and(|kind| kind == Kind::Uint8);
    let bytes = if is_bytes { tensor.shallow_clone() } else { bytes(tensor)? };
    let rows = bytes.f_reshape([channels, height.into(), width.into()])?.f_permute([1, 2, 0])?;
    let rows = rows.f_to_device(tch::Device::Cpu)?.f_contiguous()?.f_reshape([-1])?;
    let channels = u8::try_from(channels).map_err(|_| wrong())?;
    Ok(Image { width, height, channels, pixels: Vec::try_from(rows)? })
}

fn bytes(tensor: &Tensor) -> Result<Tensor, TchError> {
    let real = tensor.f_to_kind(Kind::Float)?.f_nan_to_num(0.0, 1.0, 0.0)?;
    real.f_clamp(0.0, 1.0)?.f_mul_scalar(255.0)?.f_round()?.f_to_kind(Kind::Uint8)
}

/// The histogram of a tensor's finite numbers over `bins` ranges of equal width; `None` if it has none.
///
/// # Errors
/// There are too many bins, or libtorch refused.
pub fn histogram(tensor: &Tensor, bins: usize) -> Result<Option<Histogram>, ShowError> {
    if bins > MOST_BINS {
        return Err(ShowError::Bins(bins));
    }
    let is_double = tensor.f_kind().is_ok_and(|kind| kind == Kind::Double);
    let kind = if is_double { Kind::Double } else { Kind::Float };
    let all = tensor.f_detach()?.f_to_kind(kind)?;
    let finite = all.f_isfinite()?;
    let values = match finite.f_all()?.f_int64_value(&[])? {
        1 => all,
        _ => all.f_masked_select(&finite)?,
    };
    if values.numel() == 0 {
        return Ok(None);
    }
    let number = |tensor: Tensor| tensor.f_double_value(&[]);
    let (min, max) = (number(values.f_min()?)?, number(values.f_max()?)?);
    let limits = Histogram::limits(min, max, bins);
    let ranges = i64::try_from(limits.len()).unwrap_or(i64::MAX);
    let counts = values.f_histc(ranges)?.f_to_kind(Kind::Double)?.f_to_device(tch::Device::Cpu)?;
    Ok(Some(Histogram {
        min,
        max,
        count: number(finite.f_sum(Kind::Int64)?)?,
        sum: number(values.f_sum(Kind::Double)?)?,
        squares: number(values.f_square()?.f_sum(Kind::Double)?)?,
        limits,
        counts: Vec::try_from(counts)?,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_has_its_pixels_in_rows_whatever_it_was_made_of() {
        let planes = Tensor::from_slice(&[1u8, 2, 3, 4, 5, 6]).reshape([3, 1, 2]);
        let color = image(&planes).unwrap();
        assert_eq!((color.width, color.height, color.channels), (2, 1, 3));
        assert_eq!(color.pixels, [1, 3, 5, 2, 4, 6]);
        let gray = Tensor::from_slice(&[0.0, 0.5, 1.0, 2.0, -1.0, f32::NAN]).reshape([2, 3]);
        assert_eq!(image(&gray).unwrap().pixels, [0, 128, 255, 255, 0, 0]);
    }

    #[test]
    fn a_vector_is_not_an_image() {
        let error = image(&Tensor::from_slice(&[1u8, 2])).unwrap_err().to_string();
        assert!(error.ends_with("channels, not [2]"), "{error}");
    }

    #[test]
    fn a_histogram_counts_every_finite_number_once() {
        let nan = f64::NAN;
        let values = Tensor::from_slice(&[-1.0, -0.6, 0.1, 0.9, 1.0, nan, f64::INFINITY]);
        let found = histogram(&values, 4).unwrap().unwrap();
        assert_eq!(found.limits, [-0.5, 0.0, 0.5, 1.0]);
        assert_eq!(found.counts, [2.0, 0.0, 1.0, 2.0]);
        assert_eq!((found.min, found.max, found.count), (-1.0, 1.0, 5.0));
        assert!((found.sum - 0.4).abs() < 1e-12 && (found.squares - 3.18).abs() < 1e-12);
    }

    #[test]
    fn a_histogram_of_more_bins_than_memory_holds_is_refused() {
        let error = histogram(&Tensor::from_slice(&[0.0, 1.0]), 1_000_000_000_000).unwrap_err();
        let wanted = "a histogram can have up to 65536 bins, not 1000000000000";
        assert_eq!(error.to_string(), wanted);
    }

    #[test]
    fn equal_numbers_fill_one_range_and_no_number_fills_none() {
        let found = histogram(&Tensor::from_slice(&[2.5f32, 2.5]), 30).unwrap().unwrap();
        assert_eq!((found.limits, found.counts), (vec![2.5], vec![2.0]));
        assert_eq!(histogram(&Tensor::from_slice(&[f32::NAN]), 30).unwrap(), None);
        assert_eq!(histogram(&Tensor::from_slice::<f32>(&[]), 30).unwrap(), None);
    }
}

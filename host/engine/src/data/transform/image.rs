//! A sample's shape as an image: channels, height, width.

/// A sample's shape as an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Frame {
    pub(super) channels: usize,
    pub(super) height: usize,
    pub(super) width: usize,
}

impl Frame {
    /// [channels, height, width] or [height, width]; `None` for anything else.
    pub(super) fn of_image(shape: &[i64]) -> Option<Self> {
        let side = |side: &i64| usize::try_from(*side).ok();
        match shape {
            [c, h, w] => Some(Self { channels: side(c)?, height: side(h)?, width: side(w)? }),
            [h, w] => Some(Self { channels: 1, height: side(h)?, width: side(w)? }),
            _ => None,
        }
    }

    /// Any shape: a row of features has one channel per feature; anything else that is not an image has a single channel.
    pub(super) fn of(shape: &[i64]) -> Self {
        let image = Self::of_image(shape);
        image.unwrap_or_else(|| {
            let all = shape.iter().map(|side| usize::try_from(*side).unwrap_or(0)).product();
            match shape {
                [_] => Self { channels: all, height: 1, width: 1 },
                _ => Self { channels: 1, height: 1, width: all },
            }
        })
    }

    /// Elements of one channel.
    pub(super) fn plane(self) -> usize {
        self.height * self.width
    }
}

/// The shape as an image, or why it is not one.
pub(super) fn frame(shape: &[i64]) -> Result<Frame, String> {
    Frame::of_image(shape).ok_or_else(|| {
        format!("samples have shape {shape:?}: expected images, [channels, height, width]")
    })
}

/// The error for samples that are not numbers.
pub(super) fn no_tokens(spec: &super::DataSpec) -> Result<(), String> {
    if spec.has_tokens() {
        Err("samples are tokens, which cannot be transformed".into())
    } else {
        Ok(())
    }
}

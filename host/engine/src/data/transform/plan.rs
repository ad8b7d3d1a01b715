//! What is done to one sample, as passes over the image: most chains need only one.

use super::image::Frame;

/// A rectangle of the result that is painted over.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct ErasedRect {
    /// The pass after which it is painted.
    pub(super) pass: usize,
    pub(super) top: usize,
    pub(super) left: usize,
    pub(super) height: usize,
    pub(super) width: usize,
    pub(super) paint: FillValue,
}

/// A value as the transform with this index set it; later transforms scale it like any other.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct FillValue {
    pub(super) value: f64,
    pub(super) transform: usize,
}

/// Along one axis, position `p` of the result comes from `sign * p + start`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Axis {
    pub(super) sign: isize,
    pub(super) start: isize,
}

impl Axis {
    const SAME: Self = Self { sign: 1, start: 0 };

    fn flip(&mut self, len: usize) {
        self.start += self.sign * (len.cast_signed() - 1);
        self.sign = -self.sign;
    }

    fn shift(&mut self, by: isize) {
        self.start += self.sign * by;
    }
}

/// Where the pixels of a pass come from.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Mapping {
    /// Moved and mirrored by whole pixels.
    Shift { x: Axis, y: Axis },
    /// Rotated about the center.
    Rotate { sin: f32, cos: f32 },
}

/// One pass over the image.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Pass {
    pub(super) from: Frame,
    pub(super) to: Frame,
    pub(super) mapping: Mapping,
    /// The value outside of the image.
    pub(super) outside: Option<FillValue>,
}

/// What is done to one sample. Reused for the next one: nothing is allocated.
#[derive(Debug)]
pub struct Plan {
    pub(super) passes: Vec<Pass>,
    pub(super) erased: Vec<ErasedRect>,
    /// The transform that is planning.
    pub(super) transform: usize,
    frame: Frame,
}

impl Plan {
    pub(super) fn new(frame: Frame) -> Self {
        Self { passes: Vec::new(), erased: Vec::new(), transform: 0, frame }
    }

    /// An empty plan for an image of this size.
    pub(super) fn clear(&mut self, frame: Frame) {
        self.passes.clear();
        self.erased.clear();
        self.frame = frame;
    }

    /// Height and width at this step of the chain.
    pub fn size(&self) -> (usize, usize) {
        (self.frame.height, self.frame.width)
    }

    /// Crops a window of the image; parts outside of the image have the value `outside`.
    pub fn crop(&mut self, top: isize, left: isize, (height, width): (usize, usize), outside: f64) {
        let paint = self.paint(outside);
        let is_taken = |pass: &Pass| pass.outside.is_some();
        let pass = self.open(is_taken);
        if let Mapping::Shift { x, y } = &mut pass.mapping {
            x.shift(left);
            y.shift(top);
        }
        pass.outside = Some(paint);
        (pass.to.height, pass.to.width) = (height, width);
        self.frame = pass.to;
    }

    /// Mirrors left and right.
    pub fn flip_horizontal(&mut self) {
        let pass = self.open(|_| false);
        if let Mapping::Shift { x, .. } = &mut pass.mapping {
            x.flip(pass.to.width);
        }
    }

    /// Mirrors top and bottom.
    pub fn flip_vertical(&mut self) {
        let pass = self.open(|_| false);
        if let Mapping::Shift { y, .. } = &mut pass.mapping {
            y.flip(pass.to.height);
        }
    }

    /// Rotates the image about its center, counter-clockwise; pixels from outside have the value `outside`.
    #[expect(clippy::cast_possible_truncation, reason = "places in a picture are f32")]
    pub fn turn(&mut self, degrees: f64, outside: f64) {
        let (sin, cos) = degrees.to_radians().sin_cos();
        let paint = self.paint(outside);
        let pass = self.open(|_| true);
        pass.mapping = Mapping::Rotate { sin: sin as f32, cos: cos as f32 };
        pass.outside = Some(paint);
    }

    /// Paints over a rectangle, clipped to the image.
    pub fn erase(
        &mut self,
        (top, left): (isize, isize),
        (height, width): (usize, usize),
        value: f64,
    ) {
        let cut = |from: isize, len: usize, room: usize| {
            let end = from.saturating_add_unsigned(len).clamp(0, room.cast_signed());
            let from = from.clamp(0, end);
            (from.cast_unsigned(), (end - from).cast_unsigned())
        };
        let (top, height) = cut(top, height, self.frame.height);
        let (left, width) = cut(left, width, self.frame.width);
        let paint = self.paint(value);
        if self.passes.is_empty() {
            self.begin();
        }
        let pass = self.passes.len() - 1;
        self.erased.push(ErasedRect { pass, top, left, height, width, paint });
    }

    fn paint(&self, value: f64) -> FillValue {
        FillValue { value, transform: self.transform }
    }

    /// The last pass, or a new one if that one is complete: it paints, it rotates, or `is_full`.
    fn open(&mut self, is_full: impl Fn(&Pass) -> bool) -> &mut Pass {
        let erased = |pass: usize| self.erased.iter().any(|erased| erased.pass == pass);
        let is_open = self.passes.last().is_some_and(|pass| {
            let turns = matches!(pass.mapping, Mapping::Rotate { .. });
            !turns && !is_full(pass) && !erased(self.passes.len() - 1)
        });
        if !is_open {
            self.begin();
        }
        let last = self.passes.len() - 1;
        &mut self.passes[last]
    }

    fn begin(&mut self) {
        let mapping = Mapping::Shift { x: Axis::SAME, y: Axis::SAME };
        self.passes.push(Pass { from: self.frame, to: self.frame, mapping, outside: None });
    }
}

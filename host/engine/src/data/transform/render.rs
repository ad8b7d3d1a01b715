//! Applies a plan: from a data set's bytes or numbers to the batch's floats.

use super::image::Frame;
use super::plan::{Axis, ErasedRect, FillValue, Mapping, Pass, Plan};
use super::scale::{ChannelMap, Source};

/// How values are mapped: those of the source, and those painted by transforms.
pub(super) struct ValueMaps<'a> {
    pub(super) maps: &'a [ChannelMap],
    /// The painted value in a channel.
    pub(super) paint: &'a dyn Fn(FillValue, usize) -> f32,
}

/// Memory for the result between two passes.
#[derive(Debug, Default)]
pub(super) struct PassBuffers {
    a: Vec<f32>,
    b: Vec<f32>,
}

/// Renders a source of shape `frame`, or of the first pass's.
pub(super) fn render<S: Source>(
    plan: &Plan,
    frame: Frame,
    source: &[S],
    palette: &ValueMaps<'_>,
    as_is: &[ChannelMap],
    buffers: &mut PassBuffers,
    out: &mut [f32],
) {
    let Some((first, rest)) = plan.passes.split_first() else {
        return copy(frame, source, palette.maps, out);
    };
    let Some((last, middle)) = rest.split_last() else {
        return walk(first, 0, plan, source, palette, out);
    };
    // The first pass maps values to their final ones; later passes copy them.
    let again = ValueMaps { maps: as_is, paint: palette.paint };
    let PassBuffers { a, b } = buffers;
    walk(first, 0, plan, source, palette, room(a, first.to));
    for (number, pass) in middle.iter().enumerate() {
        walk(pass, number + 1, plan, a, &again, room(b, pass.to));
        std::mem::swap(a, b);
    }
    walk(last, plan.passes.len() - 1, plan, a, &again, out);
}

fn room(buffer: &mut Vec<f32>, frame: Frame) -> &mut [f32] {
    buffer.resize(frame.channels * frame.plane(), 0.0);
    buffer
}

fn copy<S: Source>(frame: Frame, source: &[S], maps: &[ChannelMap], out: &mut [f32]) {
    let plane = frame.plane().max(1);
    for ((from, to), map) in source.chunks(plane).zip(out.chunks_mut(plane)).zip(maps) {
        S::line(from, to, map);
    }
}

/// One pass, then its painting.
fn walk<S: Source>(
    pass: &Pass,
    number: usize,
    plan: &Plan,
    source: &[S],
    palette: &ValueMaps<'_>,
    out: &mut [f32],
) {
    let (from, to) = (pass.from.plane().max(1), pass.to.plane().max(1));
    let planes = source.chunks(from).zip(out.chunks_mut(to)).zip(palette.maps).enumerate();
    for (channel, ((source, out), map)) in planes {
        let outside = pass.outside.map_or(0.0, |paint| (palette.paint)(paint, channel));
        match pass.mapping {
            Mapping::Shift { x, y } => shift(pass, x, y, source, map, outside, out),
            Mapping::Rotate { sin, cos } => turn(pass, (sin, cos), source, map, outside, out),
        }
        for erased in plan.erased.iter().filter(|erased| erased.pass == number) {
            erase(erased, pass.to.width, (palette.paint)(erased.paint, channel), out);
        }
    }
}

fn shift<S: Source>(
    pass: &Pass,
    x: Axis,
    y: Axis,
    source: &[S],
    map: &ChannelMap,
    outside: f32,
    out: &mut [f32],
) {
    let (height, width) = (pass.from.height, pass.from.width);
    // The positions of a row that come from within the image: the same in every row.
    let (left, right) = within(x, width, pass.to.width);
    for (row, out) in out.chunks_mut(pass.to.width.max(1)).enumerate() {
        let from = y.sign * row.cast_signed() + y.start;
        let from = usize::try_from(from).ok().filter(|from| *from < height && left < right);
        let Some(from) = from else {
            out.fill(outside);
            continue;
        };
        let source = &source[from * width..(from + 1) * width];
        out[..left].fill(outside);
        out[right..].fill(outside);
        let first = (x.sign * left.cast_signed() + x.start).cast_unsigned();
        let count = right - left;
        if x.sign > 0 {
            S::line(&source[first..first + count], &mut out[left..right], map);
        } else {
            let from = source[first + 1 - count..=first].iter().rev();
            out[left..right].iter_mut().zip(from).for_each(|(place, v)| *place = v.value(map));
        }
    }
}

/// The positions `left..right` of a line of `to` that come from a line of `len`.
fn within(axis: Axis, len: usize, to: usize) -> (usize, usize) {
    let (len, to) = (len.cast_signed(), to.cast_signed());
    let (left, right) = if axis.sign > 0 {
        (-axis.start, len - axis.start)
    } else {
        (axis.start - len + 1, axis.start + 1)
    };
    let left = left.clamp(0, to);
    (left.cast_unsigned(), right.clamp(left, to).cast_unsigned())
}

/// Bilinear interpolation of the four pixels around the source position.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    reason = "sides of pictures are exact in an f32, and places are rounded down on purpose"
)]
fn turn<S: Source>(
    pass: &Pass,
    (sin, cos): (f32, f32),
    source: &[S],
    map: &ChannelMap,
    outside: f32,
    out: &mut [f32],
) {
    let (height, width) = (pass.from.height, pass.from.width);
    let (mid_x, mid_y) = ((width as f32 - 1.0) / 2.0, (height as f32 - 1.0) / 2.0);
    let at = |x: isize, y: isize| {
        let x = usize::try_from(x).ok().filter(|x| *x < width);
        let y = usize::try_from(y).ok().filter(|y| *y < height);
        x.zip(y).map_or(outside, |(x, y)| source[y * width + x].value(map))
    };
    for (row, out) in out.chunks_mut(width.max(1)).enumerate() {
        for (column, place) in out.iter_mut().enumerate() {
            let (dx, dy) = (column as f32 - mid_x, row as f32 - mid_y);
            // The position before the rotation; rows go down, so counter-clockwise has this sign.
            let (x, y) = (cos * dx - sin * dy + mid_x, sin * dx + cos * dy + mid_y);
            let (left, top) = (x.floor(), y.floor());
            let (right_share, low_share) = (x - left, y - top);
            let (left, top) = (left as isize, top as isize);
            let upper = at(left, top) * (1.0 - right_share) + at(left + 1, top) * right_share;
            let lower =
                at(left, top + 1) * (1.0 - right_share) + at(left + 1, top + 1) * right_share;
            *place = upper * (1.0 - low_share) + lower * low_share;
        }
    }
}

fn erase(erased: &ErasedRect, width: usize, value: f32, out: &mut [f32]) {
    for row in erased.top..erased.top + erased.height {
        let start = row * width + erased.left;
        out[start..start + erased.width].fill(value);
    }
}

//! The progress line, fitted to the available width: the least important parts are dropped first.

use std::collections::BTreeMap;

/// A part of the line, the most important first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Field {
    /// The first scalar shown, by default the loss. It is shown at any width.
    First,
    /// The iteration.
    Iter,
    /// The epoch.
    Epoch,
    /// A further scalar, by its place.
    Scalar(usize),
    /// The remaining time.
    Eta,
    /// Samples a second.
    Throughput,
}

/// The widths that a bar may have.
const BARS: [usize; 2] = [20, 10];

/// The width around a bar: a space, `100%`, two spaces.
const AROUND_BAR: usize = 7;

const GAP: &str = "  ";

/// The parts of a line, in the order in which they are read.
pub(super) type Fields = Vec<(Field, String)>;

/// All parts, whatever the length of the line.
pub(super) fn whole(parts: &Fields) -> String {
    parts.iter().map(|(_, text)| text.as_str()).collect::<Vec<_>>().join(GAP)
}

/// Chooses the parts that are drawn. Remembers the widest text of each part, so that parts do not flicker as numbers change.
#[derive(Debug, Default)]
pub(super) struct Layout {
    widest: BTreeMap<Field, usize>,
}

impl Layout {
    /// The width of the bar, if there is one, and the text, for a terminal of this many columns. The throughput is dropped
    /// first, then the bar, then the least important parts.
    pub(super) fn fit(&mut self, parts: &Fields, columns: usize) -> (Option<usize>, String) {
        for (part, text) in parts {
            let widest = self.widest.entry(*part).or_default();
            *widest = console::measure_text_width(text).max(*widest);
        }
        let mut kept: Vec<Field> = parts.iter().map(|(part, _)| *part).collect();
        kept.sort_unstable();
        let fits = |kept: &[Field], beside: usize| self.width(kept) + beside <= columns;
        if !fits(&kept, BARS[0] + AROUND_BAR) {
            kept.retain(|part| *part != Field::Throughput);
        }
        let bar = BARS.into_iter().find(|bar| fits(&kept, bar + AROUND_BAR));
        while kept.len() > 1 && !fits(&kept, 0) {
            kept.pop();
        }
        let texts = parts.iter().filter(|(part, _)| kept.contains(part)).cloned().collect();
        (bar, whole(&texts))
    }

    fn width(&self, parts: &[Field]) -> usize {
        let texts = parts.iter().filter_map(|part| self.widest.get(part)).sum::<usize>();
        texts + GAP.len() * parts.len().saturating_sub(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(eta: &str) -> Fields {
        let parts = [
            (Field::Epoch, "epoch 1/20"),
            (Field::Iter, "iter 20/460"),
            (Field::First, "loss 2.2688"),
            (Field::Scalar(1), "lr 0.0048"),
            (Field::Throughput, "205621 samples/s"),
            (Field::Eta, eta),
        ];
        parts.map(|(part, text)| (part, text.to_owned())).into()
    }

    #[test]
    fn the_bar_goes_before_the_loss_and_the_loss_never() {
        let fit = |columns| Layout::default().fit(&parts("eta 1.0 s"), columns);
        assert_eq!(fit(120), (Some(20), whole(&parts("eta 1.0 s"))));
        let all = "epoch 1/20  iter 20/460  loss 2.2688  lr 0.0048  eta 1.0 s";
        assert_eq!(fit(90), (Some(20), all.to_owned()));
        assert_eq!(fit(80), (Some(10), all.to_owned()));
        assert_eq!(fit(60), (None, all.to_owned()));
        assert_eq!(fit(50), (None, "epoch 1/20  iter 20/460  loss 2.2688  lr 0.0048".to_owned()));
        assert_eq!(fit(40), (None, "epoch 1/20  iter 20/460  loss 2.2688".to_owned()));
        assert_eq!(fit(30), (None, "iter 20/460  loss 2.2688".to_owned()));
        assert_eq!(fit(5), (None, "loss 2.2688".to_owned()));
    }

    #[test]
    fn a_number_that_gets_shorter_restores_no_part() {
        let mut layout = Layout::default();
        assert_eq!(layout.fit(&parts("eta 12:00:00"), 76).0, None);
        assert_eq!(layout.fit(&parts("eta 1.0 s"), 76).0, None);
        assert_eq!(Layout::default().fit(&parts("eta 1.0 s"), 76).0, Some(10));
    }
}

//! The drawing of the loop in `plugin-api/src/point.rs`, read as the program that it draws.
//!
//! A line is a list of points, `for SOMETHING:` over the lines that are indented below it, or the name of a part that is
//! drawn on its own, in capitals. What is right of the points is a note; one that begins with `when` is a condition.

const SOURCE: &str = include_str!("../../plugin-api/src/point.rs");

/// A part of the drawing: lines without their common indentation.
pub(crate) struct Drawing(Vec<Line>);

struct Line {
    indent: usize,
    text: &'static str,
    note: &'static str,
}

impl Line {
    fn read(line: &'static str) -> Self {
        let text = line.trim_start();
        let (text, note) = text.split_once("  ").unwrap_or((text, ""));
        Self { indent: line.len() - line.trim_start().len(), text, note: note.trim() }
    }
}

impl Drawing {
    /// What a training run goes through.
    pub(crate) fn of_a_run() -> Self {
        Self(drawn().take_while(|line| !line.is_empty()).map(Line::read).collect())
    }

    /// A part that has a name.
    pub(crate) fn of(part: &str) -> Self {
        let body = drawn().skip_while(|line| *line != part).skip(1);
        let body: Vec<_> = body.take_while(|line| !line.is_empty()).map(Line::read).collect();
        assert!(!body.is_empty(), "the drawing has no part {part}");
        Self(body)
    }

    /// The points in the order in which a run reaches them. `times` says how often each `for …` is walked and, by 0 or 1,
    /// which `when …` holds.
    pub(crate) fn points(&self, mut times: impl FnMut(&str) -> usize) -> Vec<String> {
        let mut points = Vec::new();
        walk(&self.0, &mut times, &mut points);
        points
    }
}

/// The lines of the drawing.
fn drawn() -> impl Iterator<Item = &'static str> {
    let comment = SOURCE.lines().map_while(|line| line.strip_prefix("//!"));
    let from = comment.skip_while(|line| *line != " ```text").skip(1);
    from.take_while(|line| *line != " ```").map(|line| line.strip_prefix(' ').unwrap_or(line))
}

fn walk(lines: &[Line], times: &mut dyn FnMut(&str) -> usize, points: &mut Vec<String>) {
    let mut rest = lines;
    while let Some((line, after)) = rest.split_first() {
        rest = after;
        if let Some(head) = line.text.strip_suffix(':') {
            let len = after.iter().take_while(|inner| inner.indent > line.indent).count();
            let body;
            (body, rest) = after.split_at(len);
            for _ in 0..times(head) {
                walk(body, times, points);
            }
        } else if line.note.starts_with("when ") && times(line.note) == 0 {
        } else if line.text.chars().all(|c| c.is_ascii_uppercase()) {
            walk(&Drawing::of(line.text).0, times, points);
        } else {
            let names = line.text.split(", ").map(|name| name.trim_start_matches("ROLE "));
            points.extend(names.map(str::to_owned));
        }
    }
}

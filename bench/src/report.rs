//! Results, their targets, and how both are printed.

use serde_json::{Value as Json, json};
use std::fmt;

/// A target.
#[derive(Clone, Copy)]
pub(crate) enum Target {
    AtMost(f64),
    AtLeast(f64),
}

/// Which number of a line the target is about.
#[derive(Clone, Copy)]
pub(crate) enum About {
    Value,
    Ratio,
}

/// One figure.
pub(crate) struct Line {
    pub(crate) name: String,
    pub(crate) value: f64,
    /// The ratio to the section's baseline.
    pub(crate) ratio: Option<f64>,
    pub(crate) target: Option<(About, Target)>,
}

/// Figures of one kind.
pub(crate) struct Section {
    pub(crate) title: String,
    pub(crate) unit: &'static str,
    /// The unit of ratios, such as `x plain`; empty without ratios.
    pub(crate) baseline: &'static str,
    pub(crate) lines: Vec<Line>,
}

/// Everything that was measured.
pub(crate) struct Report {
    pub(crate) sections: Vec<Section>,
}

impl Line {
    /// A figure without a target.
    pub(crate) fn new(name: impl Into<String>, value: f64) -> Self {
        Self { name: name.into(), value, ratio: None, target: None }
    }

    /// Adds a ratio to the baseline.
    pub(crate) fn to(mut self, ratio: f64) -> Self {
        self.ratio = Some(ratio);
        self
    }

    /// Adds a target.
    pub(crate) fn must(mut self, about: About, target: Target) -> Self {
        self.target = Some((about, target));
        self
    }

    /// Whether the target is met; `None` without one.
    fn holds(&self) -> Option<bool> {
        let (about, target) = self.target?;
        let found = match about {
            About::Value => self.value,
            About::Ratio => self.ratio?,
        };
        // NaN meets no target.
        Some(match target {
            Target::AtMost(limit) => found <= limit,
            Target::AtLeast(limit) => found >= limit,
        })
    }

    fn to_json(&self) -> Json {
        let target = self.target.map(|(about, target)| {
            let about = match about {
                About::Value => "value",
                About::Ratio => "ratio",
            };
            match target {
                Target::AtMost(limit) => json!({ "of": about, "at_most": limit }),
                Target::AtLeast(limit) => json!({ "of": about, "at_least": limit }),
            }
        });
        json!({
            "name": self.name, "value": self.value, "ratio": self.ratio, "target": target, "holds": self.holds(),
        })
    }
}

impl Section {
    /// A section that could not be measured: a target that is missed.
    pub(crate) fn missing(name: &str, why: &str) -> Self {
        let line = Line::new("not measured", f64::NAN).must(About::Value, Target::AtLeast(0.0));
        Self { title: format!("{name}: {why}"), unit: "", baseline: "", lines: vec![line] }
    }
}

impl Report {
    /// Whether every target is met.
    pub(crate) fn holds(&self) -> bool {
        self.sections
            .iter()
            .flat_map(|section| &section.lines)
            .all(|line| line.holds() != Some(false))
    }

    /// As JSON.
    pub(crate) fn to_json(&self) -> Json {
        let section = |section: &Section| {
            let lines: Vec<_> = section.lines.iter().map(Line::to_json).collect();
            json!({
                "title": section.title, "unit": section.unit, "ratio_to": section.baseline, "lines": lines,
            })
        };
        Json::Array(self.sections.iter().map(section).collect())
    }
}

impl fmt::Display for Report {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, section) in self.sections.iter().enumerate() {
            if i > 0 {
                writeln!(out)?;
            }
            write!(out, "{section}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Section {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = self.lines.iter().map(|line| line.name.chars().count()).max().unwrap_or(0);
        writeln!(out, "{}", self.title)?;
        let header = format!("  {:<width$} {:>9} {:>14}  TARGET", "", self.unit, self.baseline);
        writeln!(out, "{}", header.trim_end())?;
        for line in &self.lines {
            let ratio = line.ratio.map(|ratio| format!("{ratio:.3}")).unwrap_or_default();
            let text =
                format!("  {:<width$} {:>9} {ratio:>14}  {line}", line.name, number(line.value));
            writeln!(out, "{}", text.trim_end())?;
        }
        Ok(())
    }
}

/// A line's target and whether it is met.
impl fmt::Display for Line {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Some((_, target)), Some(holds)) = (self.target, self.holds()) else { return Ok(()) };
        let verdict = if holds { "PASS" } else { "FAIL" };
        match target {
            Target::AtMost(limit) => write!(out, "<= {limit:<5} {verdict}"),
            Target::AtLeast(limit) => write!(out, ">= {limit:<5} {verdict}"),
        }
    }
}

/// A number with a sensible number of digits.
fn number(value: f64) -> String {
    if value.abs() >= 100.0 { format!("{value:.0}") } else { format!("{value:.2}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn section() -> Section {
        let lines = vec![
            Line::new("plain", 2.0).to(1.0),
            Line::new("plugin", 2.5).to(1.25).must(About::Ratio, Target::AtMost(1.5)),
            Line::new("slow", 1234.5).must(About::Value, Target::AtMost(1000.0)),
        ];
        Section { title: "calls".to_owned(), unit: "ns", baseline: "x plain", lines }
    }

    #[test]
    fn a_report_is_a_table_with_verdicts() {
        let text = "calls\n                ns        x plain  TARGET\n  plain       2.00          1.000\n  \
                    plugin      2.50          1.250  <= 1.5   PASS\n  slow        1234                 <= 1000  FAIL\n";
        let found = section().to_string();
        assert_eq!(
            found.split_whitespace().collect::<Vec<_>>(),
            text.split_whitespace().collect::<Vec<_>>()
        );
    }

    #[test]
    fn what_could_not_be_measured_is_a_missed_target() {
        let report = Report { sections: vec![Section::missing("resume", "no such file")] };
        assert!(!report.holds());
        assert!(report.to_string().starts_with("resume: no such file\n"), "{report}");
    }

    #[test]
    fn one_missed_target_fails_the_report_and_nan_meets_no_target() {
        let mut report = Report { sections: vec![section()] };
        assert!(!report.holds());
        report.sections[0].lines.pop();
        assert!(report.holds());
        report.sections[0]
            .lines
            .push(Line::new("x", f64::NAN).must(About::Value, Target::AtLeast(0.0)));
        assert!(!report.holds());
    }
}

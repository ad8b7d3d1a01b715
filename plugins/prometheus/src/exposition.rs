//! The text exposition format, version 0.0.4.

use std::fmt::Write as _;

/// Further names are omitted: a scrape stays small however many scalars a run has.
const MOST_SCALARS: usize = 2000;

/// Where a run is.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    /// The run.
    pub run: String,
    /// Gauges of the run itself: name, help, value.
    pub gauges: Vec<(&'static str, &'static str, f64)>,
    /// Scalars by full name.
    pub scalars: Vec<(String, f64)>,
}

impl Snapshot {
    /// The page.
    pub fn text(&self) -> String {
        let (mut out, run) = (String::new(), escaped(&self.run));
        for (name, help, value) in &self.gauges {
            _ = writeln!(out, "# HELP {name} {help}\n# TYPE {name} gauge");
            _ = writeln!(out, "{name}{{run=\"{run}\"}} {}", number(*value));
        }
        out.push_str("# HELP hookrack_scalar The last value of a scalar of the run.\n");
        out.push_str("# TYPE hookrack_scalar gauge\n");
        for (name, value) in self.scalars.iter().take(MOST_SCALARS) {
            let (name, value) = (escaped(name), number(*value));
            _ = writeln!(out, "hookrack_scalar{{run=\"{run}\",name=\"{name}\"}} {value}");
        }
        let dropped = self.scalars.len().saturating_sub(MOST_SCALARS);
        out.push_str("# HELP hookrack_scalars_dropped Scalars that were left out of this page.\n");
        _ = writeln!(
            out,
            "# TYPE hookrack_scalars_dropped gauge\nhookrack_scalars_dropped {dropped}"
        );
        out
    }
}

/// A label's value: backslash, quote and line feed are escaped.
fn escaped(label: &str) -> String {
    label.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

fn number(value: f64) -> String {
    match value {
        value if value.is_nan() => "NaN".to_owned(),
        f64::INFINITY => "+Inf".to_owned(),
        f64::NEG_INFINITY => "-Inf".to_owned(),
        value => format!("{value}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_has_help_type_and_value_of_each() {
        let scalars = vec![("train/loss".to_owned(), 0.25), ("a\"b\\c\n".to_owned(), f64::NAN)];
        let gauges = vec![("hookrack_epoch", "The epoch.", 3.0)];
        let text = Snapshot { run: "r1".into(), gauges, scalars }.text();
        let expected = "# HELP hookrack_epoch The epoch.\n# TYPE hookrack_epoch gauge\n\
                        hookrack_epoch{run=\"r1\"} 3\n";
        assert!(text.starts_with(expected), "{text}");
        assert!(text.contains("hookrack_scalar{run=\"r1\",name=\"train/loss\"} 0.25\n"), "{text}");
        assert!(text.contains("name=\"a\\\"b\\\\c\\n\"} NaN\n"), "{text}");
        assert!(text.ends_with("hookrack_scalars_dropped 0\n"), "{text}");
        assert_eq!([number(f64::INFINITY), number(f64::NEG_INFINITY)], ["+Inf", "-Inf"]);
    }

    #[test]
    fn a_page_is_bounded_and_says_what_it_leaves_out() {
        let scalars = (0..MOST_SCALARS + 5).map(|i| (format!("s{i}"), 0.0)).collect();
        let text = Snapshot { scalars, ..Snapshot::default() }.text();
        assert_eq!(text.matches("hookrack_scalar{").count(), MOST_SCALARS);
        assert!(text.ends_with("hookrack_scalars_dropped 5\n"));
    }
}

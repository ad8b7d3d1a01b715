//! The curves that metrics wrote to the folder `curves` (ROC, precision over recall), each as a figure in the unit square.

use hookrack_chart::{Axis, Chart, Line, Scale, escape};
use serde_json::Value as Json;
use std::fmt::Write as _;
use std::path::Path;

/// Margin for the axes of a square.
const SIZE: (f64, f64) = (394.0, 366.0);

/// A curve.
struct Curve {
    name: String,
    points: Vec<(f64, f64)>,
}

/// The contents of a file.
pub(super) struct CurveFile {
    title: String,
    iter: u64,
    x: String,
    y: String,
    diagonal: bool,
    left_out: u64,
    curves: Vec<Curve>,
}

/// The figures of a run, by name. Incomplete files are skipped.
pub(super) fn read(run: &Path) -> Vec<CurveFile> {
    let entries = std::fs::read_dir(run.join("curves")).into_iter().flatten().flatten();
    let mut paths: Vec<_> = entries.map(|entry| entry.path()).collect();
    paths.retain(|path| path.extension().is_some_and(|ending| ending == "json"));
    paths.sort();
    let text = paths.iter().filter_map(|path| std::fs::read_to_string(path).ok());
    text.filter_map(|text| CurveFile::of(&serde_json::from_str(&text).ok()?)).collect()
}

impl CurveFile {
    fn of(json: &Json) -> Option<Self> {
        let text = |key: &str| Some(json[key].as_str()?.to_owned());
        let point = |point: &Json| Some((point[0].as_f64()?, point[1].as_f64()?));
        let curve = |curve: &Json| {
            let points = curve["points"].as_array()?.iter().filter_map(point).collect();
            Some(Curve { name: curve["name"].as_str()?.to_owned(), points })
        };
        Some(Self {
            title: text("title")?,
            iter: json["iter"].as_u64()?,
            x: text("x")?,
            y: text("y")?,
            diagonal: json["diagonal"].as_bool().unwrap_or(false),
            left_out: json["left_out"].as_u64().unwrap_or(0),
            curves: json["curves"].as_array()?.iter().filter_map(curve).collect(),
        })
    }

    fn figure(&self) -> String {
        let title = escape(&self.title);
        let mut out = format!(
            "<figure><figcaption><b>{title}</b><span class=\"soft\">after iteration {}</span>",
            self.iter
        );
        for (index, curve) in self.curves.iter().enumerate() {
            _ = write!(out, "<span class=\"key c{}\">{}</span>", index % 6, escape(&curve.name));
        }
        if self.left_out > 0 {
            _ = write!(out, "<span class=\"soft\">and {} more</span>", self.left_out);
        }
        _ = writeln!(out, "</figcaption>{}</figure>", self.chart().element(SIZE));
        out
    }

    fn chart(&self) -> Chart<'_> {
        let axis = |name| Axis { name, range: (0.0, 1.0), scale: Scale::Linear };
        let line = |(index, curve): (usize, &Curve)| Line {
            class: "curve",
            color: index % 6,
            points: curve.points.clone(),
        };
        Chart {
            title: &self.title,
            x: axis(&self.x),
            y: axis(&self.y),
            lines: self.curves.iter().enumerate().map(line).collect(),
            marks: Vec::new(),
            diagonal: self.diagonal,
        }
    }
}

/// The section of the page.
pub(super) fn section(out: &mut String, files: &[CurveFile]) {
    if files.is_empty() {
        return;
    }
    out.push_str("<h2>Curves over thresholds</h2>\n<div class=\"charts\">\n");
    for square in files {
        out.push_str(&square.figure());
    }
    out.push_str("</div>\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_is_drawn_of_each_whole_file() {
        let run = tempfile::tempdir().unwrap();
        assert!(read(run.path()).is_empty());
        let folder = run.path().join("curves");
        std::fs::create_dir(&folder).unwrap();
        let whole = "{\"title\":\"val/<ROC>\",\"iter\":40,\"x\":\"false positive rate\",\"y\":\"true positive rate\",\
                     \"diagonal\":true,\"left_out\":2,\
                     \"curves\":[{\"name\":\"class 1\",\"points\":[[0.0,0.0],[0.5,1.0],[1.0,1.0]]}]}";
        std::fs::write(folder.join("val_ROC.json"), whole).unwrap();
        std::fs::write(folder.join("val_half.json"), &whole[..80]).unwrap();
        std::fs::write(folder.join(".val_ROC.json.tmp"), whole).unwrap();
        let mut page = String::new();
        section(&mut page, &read(run.path()));
        for part in [
            "val/&lt;ROC&gt;",
            "after iteration 40",
            "class 1",
            "and 2 more",
            "false positive rate",
            "points=\"80.0,314.0 230.0,14.0 380.0,14.0\"",
            "stroke-dasharray",
        ] {
            assert!(page.contains(part), "`{part}` is not in\n{page}");
        }
        assert_eq!(page.matches("<figure>").count(), 1);
    }
}

//! The rows of the page.

use crate::workshop::repository;

/// What the rows of a section are.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum RowKind {
    Point,
    Hook,
    Metric,
    Scheduler,
    /// Anything else: settings, attributes, commands.
    Other,
}

impl RowKind {
    fn of_section(title: &str) -> Self {
        match title {
            "Points" => Self::Point,
            "Hooks" | "Callbacks" => Self::Hook,
            "Metrics" | "Evaluators" => Self::Metric,
            "Learning rate schedules" => Self::Scheduler,
            _ => Self::Other,
        }
    }
}

/// What something of a seed is here.
pub(super) enum Here {
    /// The same name.
    Same,
    /// Other names: of the same kind, or keys of the config and types in it.
    Named(Vec<String>),
    /// Methods of plugin-api.
    Api(Vec<String>),
    /// A command, and an option of it.
    Command(String, String),
    /// The loop does it; it has no name.
    Always,
    /// Not here, for the reason in the note.
    Missing,
}

impl Here {
    fn read(cell: &str) -> Self {
        match cell {
            "*same*" => return Self::Same,
            "*always*" => return Self::Always,
            "*not yet*" | "*no*" => return Self::Missing,
            _ => {}
        }
        let words = || cell.split(", ").map(|word| word.trim_matches('`'));
        if let Some(line) = cell.strip_prefix("`hookrack ") {
            let (command, option) = line.trim_end_matches('`').split_once(' ').unwrap();
            return Self::Command(command.to_owned(), option.to_owned());
        }
        let method = |word: &str| Some(word.strip_prefix("t.")?.strip_suffix("()")?.to_owned());
        let calls: Option<Vec<_>> = words().map(method).collect();
        calls.map_or_else(|| Self::Named(words().map(str::to_owned).collect()), Self::Api)
    }
}

/// A row: the seed's name, what it is here, its parameters, a note.
pub(super) struct Row {
    pub(super) seed: String,
    pub(super) subject: RowKind,
    pub(super) name: String,
    pub(super) here: Here,
    /// The seed's name and ours; none where there is a reason instead.
    pub(super) params: Vec<(String, Option<String>)>,
    pub(super) note: String,
}

impl Row {
    pub(super) fn read(seed: &str, section: &str, line: &str) -> Self {
        let cells: Vec<_> = line.trim_matches('|').split('|').map(str::trim).collect();
        let [name, here, params, note] = cells[..] else { panic!("not a row of four: {line}") };
        let params = params.split("; ").filter(|param| !param.is_empty());
        Self {
            seed: seed.to_owned(),
            subject: RowKind::of_section(section),
            name: name.trim_matches('`').to_owned(),
            here: Here::read(here),
            params: params.map(param).collect(),
            note: note.to_owned(),
        }
    }

    pub(super) fn is_missing(&self) -> bool {
        matches!(self.here, Here::Missing)
    }
}

/// `` `name` ``, `` `name`: `ours` ``, or `` `name`: the reason why there is none``.
fn param(text: &str) -> (String, Option<String>) {
    // A reason may begin and end with a name too.
    let quoted = |text: &str| {
        let name = text.strip_prefix('`')?.strip_suffix('`')?;
        (!name.contains('`')).then(|| name.to_owned())
    };
    let (name, ours) = text.split_once(": ").unwrap_or((text, text));
    (quoted(name).unwrap_or_else(|| panic!("no parameter: {text}")), quoted(ours))
}

/// The page.
pub(super) fn text() -> String {
    std::fs::read_to_string(repository().join("docs/seeds.md")).unwrap()
}

/// The rows of all sections.
pub(super) fn rows() -> Vec<Row> {
    let (mut seed, mut section, mut rows) = ("", "", Vec::new());
    let text = text();
    for line in text.lines() {
        if let Some(title) = line.strip_prefix("## ") {
            (seed, section) = (title, "");
        } else if let Some(title) = line.strip_prefix("### ") {
            section = title;
        } else if line.starts_with("| `") {
            rows.push(Row::read(seed, section, line));
        }
    }
    rows
}

//! Whether messages are colored: `--color`, then the environment, then whether the output is a terminal.

use clap::ValueEnum;
use std::io::{self, IsTerminal as _};
use std::sync::atomic::{AtomicBool, Ordering};

/// When to color what is printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum Color {
    /// On a terminal, unless NO_COLOR is set, CLICOLOR is 0 or TERM is dumb; always if CLICOLOR_FORCE is set
    #[default]
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// Whether standard error is colored.
static STDERR: AtomicBool = AtomicBool::new(false);

/// Whether messages on standard error are colored.
pub(super) fn on_stderr() -> bool {
    STDERR.load(Ordering::Relaxed)
}

impl Color {
    /// What the arguments request; clap needs to know before it parses them, because it colors its own messages.
    pub(super) fn of_args(args: impl Iterator<Item = std::ffi::OsString>) -> Self {
        let args: Vec<_> = args.map(|arg| arg.to_string_lossy().into_owned()).collect();
        let args = args.split(|arg| arg == "--").next().unwrap_or_default();
        let after = args.iter().zip(args.iter().skip(1)).filter(|(flag, _)| *flag == "--color");
        let joined = args.iter().filter_map(|arg| arg.strip_prefix("--color="));
        let words = after.map(|(_, word)| word.as_str()).chain(joined);
        words.filter_map(|word| Self::from_str(word, false).ok()).next_back().unwrap_or_default()
    }

    /// Applies it to all further output.
    pub(super) fn apply(self) {
        let wants = |is_terminal| self.wants(is_terminal, |name| std::env::var(name).ok());
        STDERR.store(wants(io::stderr().is_terminal()), Ordering::Relaxed);
        let stdout = wants(io::stdout().is_terminal());
        // The progress line is on standard output, whichever of the two its style asks about.
        console::set_colors_enabled(stdout);
        console::set_colors_enabled_stderr(stdout);
    }

    /// For clap's own help and errors.
    pub(super) fn for_clap(self) -> clap::ColorChoice {
        match self {
            Self::Auto => clap::ColorChoice::Auto,
            Self::Always => clap::ColorChoice::Always,
            Self::Never => clap::ColorChoice::Never,
        }
    }

    /// <https://no-color.org>, <https://bixense.com/clicolors>.
    fn wants(self, is_terminal: bool, variable: impl Fn(&str) -> Option<String>) -> bool {
        let is_set = |name| variable(name).is_some_and(|value| !value.is_empty());
        let is_zero = |name| variable(name).is_some_and(|value| value == "0");
        match self {
            Self::Always => true,
            Self::Never => false,
            Self::Auto if is_set("NO_COLOR") => false,
            Self::Auto if is_set("CLICOLOR_FORCE") && !is_zero("CLICOLOR_FORCE") => true,
            Self::Auto => {
                let is_dumb = variable("TERM").is_none_or(|term| term.is_empty() || term == "dumb");
                is_terminal && !is_dumb && !is_zero("CLICOLOR")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wants(color: Color, is_terminal: bool, environment: &[(&str, &str)]) -> bool {
        color.wants(is_terminal, |name| {
            let found = environment.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn the_flag_wins_over_the_environment_and_that_over_the_terminal() {
        let xterm = ("TERM", "xterm");
        let auto = |is_terminal, environment: &[_]| wants(Color::Auto, is_terminal, environment);
        assert!(auto(true, &[xterm]));
        assert!(!auto(false, &[xterm]));
        assert!(!auto(true, &[]) && !auto(true, &[("TERM", "dumb")]));
        assert!(!auto(true, &[xterm, ("NO_COLOR", "1")]));
        assert!(auto(true, &[xterm, ("NO_COLOR", "")]), "an empty one is not set");
        assert!(!auto(true, &[xterm, ("CLICOLOR", "0")]));
        assert!(auto(false, &[("CLICOLOR_FORCE", "1")]));
        assert!(!auto(false, &[("CLICOLOR_FORCE", "0")]));
        assert!(!auto(true, &[xterm, ("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")]));
        assert!(wants(Color::Always, false, &[("NO_COLOR", "1"), ("TERM", "dumb")]));
        assert!(!wants(Color::Never, true, &[xterm, ("CLICOLOR_FORCE", "1")]));
    }

    #[test]
    fn the_last_flag_before_a_double_dash_counts() {
        let of = |args: &[&str]| Color::of_args(args.iter().map(Into::into));
        assert_eq!(of(&["hookrack", "plan", "x"]), Color::Auto);
        assert_eq!(of(&["hookrack", "--color", "never", "plan"]), Color::Never);
        assert_eq!(of(&["hookrack", "plan", "--color=always"]), Color::Always);
        assert_eq!(of(&["hookrack", "--", "--color=always"]), Color::Auto);
        assert_eq!(of(&["hookrack", "--color=pink"]), Color::Auto);
    }
}

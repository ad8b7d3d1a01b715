//! The scalars that a run will log, as far as its config tells; settings that name a scalar are checked against them.

use hookrack_plugin_api::Phase;

use hookrack_plugin_api::name::nearest;

/// What the host logs when the loss is scaled: the scale, and the steps skipped so far.
pub const LOSS_SCALING: [&str; 2] = ["train/loss_scale", "train/skipped_steps"];

/// The scalars of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scalars {
    // Full names; a trailing `*` matches any suffix.
    names: Vec<String>,
    instances: Vec<String>,
    validates: bool,
    is_open: bool,
}

/// Why a scalar is not expected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotLogged {
    /// False if a hook that does not declare its scalars might log it.
    pub is_sure: bool,
    /// Ends the sentence that begins with `nothing logs`; may be empty.
    pub why: &'static str,
    /// The nearest name.
    pub nearest: Option<String>,
    /// What to do.
    pub help: String,
}

impl Scalars {
    /// The scalars of a run with or without validation.
    pub(super) fn new(validates: bool) -> Self {
        Self { validates, ..Self::default() }
    }

    /// Adds a hook: the scalars that it logs, or `None` if it does not declare them.
    pub(super) fn add_hook(&mut self, instance: &str, puts: Option<&[String]>) {
        self.instances.push(instance.to_owned());
        self.is_open |= puts.is_none();
        self.names.extend(puts.unwrap_or_default().iter().cloned());
    }

    /// Adds a metric in a phase: its value, its values by name, and that of the last batch.
    pub(super) fn add_metric(&mut self, instance: &str, phase: Phase) {
        let name = format!("{}/{instance}", phase.name());
        self.instances.push(instance.to_owned());
        self.names.extend([format!("{name}.*"), format!("{name}_step"), name]);
    }

    /// Adds a scalar that the host logs.
    pub(super) fn add(&mut self, name: &str) {
        self.names.push(name.to_owned());
    }

    /// Whether training will log a scalar of this name.
    pub fn expect(&self, name: &str) -> Result<(), NotLogged> {
        let phase = name.split_once('/').map_or("", |(phase, _)| phase);
        match phase {
            "hook" => return self.expect_instance(name),
            "val" if !self.validates => {
                let help =
                    "add a [data.val] section, or name a scalar of training such as `train/loss`";
                return Err(self.sure(name, ": the config has no [data.val]", help));
            }
            "test" | "pred" => {
                let help = "name one of training or validation, such as `val/loss`";
                return Err(self.sure(name, " while training", help));
            }
            _ => {}
        }
        let fits = |known: &String| match known.strip_suffix('*') {
            Some(beginning) => name.starts_with(beginning),
            None => known == name,
        };
        if self.names.iter().any(fits) {
            return Ok(());
        }
        let help = match phase {
            "" => "give its full name, such as `val/loss`".to_owned(),
            _ => self.listed(phase),
        };
        Err(NotLogged { is_sure: !self.is_open, ..self.sure(name, "", &help) })
    }

    /// `hook/<instance>/…` must name an existing instance.
    fn expect_instance(&self, name: &str) -> Result<(), NotLogged> {
        let (instance, rest) =
            name.strip_prefix("hook/").and_then(|own| own.split_once('/')).unwrap_or_default();
        if self.instances.iter().any(|known| known == instance) {
            return Ok(());
        }
        let meant = nearest(instance, self.instances.iter().map(String::as_str));
        let nearest = meant.map(|meant| format!("hook/{meant}/{rest}"));
        let help = format!("no hook or metric is named `{instance}`");
        Err(NotLogged { nearest, ..self.sure(name, "", &help) })
    }

    fn sure(&self, name: &str, why: &'static str, help: &str) -> NotLogged {
        let plain =
            self.names.iter().filter(|known| !known.ends_with('*') && !known.ends_with("_step"));
        let possible = plain.filter(|known| {
            known.starts_with("train/") || (self.validates && known.starts_with("val/"))
        });
        let nearest =
            if why.is_empty() { nearest(name, possible.map(String::as_str)) } else { None };
        let (nearest, help) = (nearest.map(str::to_owned), help.to_owned());
        NotLogged { is_sure: true, why, nearest, help }
    }

    /// The names of a phase, if there are few.
    fn listed(&self, phase: &str) -> String {
        let of_phase = |known: &&String| {
            known.split_once('/').is_some_and(|(of, _)| of == phase)
                && !known.ends_with('*')
                && !known.ends_with("_step")
        };
        let mut names: Vec<_> = self.names.iter().filter(of_phase).map(String::as_str).collect();
        names.sort_unstable();
        names.dedup();
        match names.as_slice() {
            [] => "a scalar is named by phase and name, such as `val/loss`".to_owned(),
            names => format!("the run logs {}", names.join(", ")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scalars() -> Scalars {
        let mut scalars = Scalars::new(true);
        scalars.add_hook("loss", Some(&["train/loss".to_owned(), "val/loss".to_owned()]));
        scalars.add_hook("ema", Some(&[]));
        scalars.add_metric("Accuracy", Phase::Val);
        scalars
    }

    #[test]
    fn what_hooks_and_metrics_put_is_expected() {
        let known = ["train/loss", "val/loss", "val/Accuracy", "val/Accuracy.top", "hook/ema/x"];
        assert!(known.iter().all(|name| scalars().expect(name).is_ok()));
    }

    #[test]
    fn a_mistyped_name_has_the_nearest_and_a_phase_without_data_its_reason() {
        let unknown = scalars().expect("val/Acuracy").unwrap_err();
        assert_eq!((unknown.is_sure, unknown.nearest.as_deref()), (true, Some("val/Accuracy")));
        assert_eq!(unknown.help, "the run logs val/Accuracy, val/loss");
        let unknown = scalars().expect("hook/emma/x").unwrap_err();
        assert_eq!((unknown.is_sure, unknown.nearest.as_deref()), (true, Some("hook/ema/x")));
        assert!(scalars().expect("train/Accuracy").is_err(), "it is measured in validation alone");
        assert_eq!(scalars().expect("test/Accuracy").unwrap_err().why, " while training");
        assert!(scalars().expect("loss").unwrap_err().help.contains("full name"));
        let none = Scalars { validates: false, ..scalars() };
        assert_eq!(none.expect("val/loss").unwrap_err().why, ": the config has no [data.val]");
    }

    #[test]
    fn beside_a_hook_that_declares_no_scalars_those_of_its_phases_are_uncertain() {
        let mut scalars = scalars();
        scalars.add_hook("mine", None);
        assert!(!scalars.expect("val/mine").unwrap_err().is_sure);
        assert!(scalars.expect("hook/other/x").unwrap_err().is_sure);
    }
}

//! Decides which checkpoints are kept, from their summaries alone.

use super::manifest::Summary;
use hookrack_plugin_api::Better;
use std::collections::BTreeSet;

/// Which of its checkpoints a hook wants to keep.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rule {
    /// The hook.
    pub who: String,
    /// The number of the newest to keep; `None` for all.
    pub last: Option<u64>,
    /// Keep those of every n-th epoch; 0 for none.
    pub every_epochs: u64,
    /// Keep those of every n-th iteration; 0 for none.
    pub every_iters: u64,
    /// Keep those with the best values of a metric.
    pub best: Option<Best>,
    /// The pattern of a second name for them; empty for none.
    pub name: String,
}

/// Which checkpoints are the best.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Best {
    /// The metric, `val/Accuracy`.
    pub metric: String,
    /// Which of its values are better.
    pub better: Better,
    /// How many are kept.
    pub top: u64,
}

/// The decision.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Actions {
    /// The iterations whose checkpoints are removed.
    pub delete: Vec<u64>,
    /// The iteration that `best` names, by the first rule that has a metric.
    pub best: Option<u64>,
}

fn count(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

impl Best {
    /// The iterations of the best, best first; among equals the older one first. Checkpoints without the metric are not included.
    pub(super) fn of<'a>(&self, all: impl Iterator<Item = &'a Summary>) -> Vec<u64> {
        let mut ranked: Vec<(f64, u64)> =
            all.filter_map(|about| Some((*about.metrics.get(&self.metric)?, about.iter))).collect();
        ranked.sort_by(|a, b| self.better.compare(a.0, b.0).then(a.1.cmp(&b.1)));
        ranked.into_iter().map(|(_, iter)| iter).take(count(self.top)).collect()
    }
}

impl Rule {
    /// Whether every checkpoint is kept.
    fn keeps_all(&self) -> bool {
        self.last.is_none()
    }

    fn keeps(&self, all: &[Summary]) -> Vec<u64> {
        let own = || all.iter().filter(|about| about.asked_by.contains(&self.who));
        let is_nth = |count: u64, period: u64| period > 0 && count.is_multiple_of(period);
        if self.keeps_all() {
            return own().map(|about| about.iter).collect();
        }
        let newest = own().rev().take(count(self.last.unwrap_or(0)));
        let forever = own().filter(|about| {
            is_nth(about.epoch, self.every_epochs) || is_nth(about.iter, self.every_iters)
        });
        let best = self.best.iter().flat_map(|best| best.of(own()));
        newest.chain(forever).map(|about| about.iter).chain(best).collect()
    }
}

/// Decides about all checkpoints of a run, oldest first. The newest is always kept: a resume needs it.
pub fn decide(rules: &[Rule], all: &[Summary]) -> Actions {
    let best = rules.iter().find_map(|rule| rule.best.as_ref());
    let best = best.and_then(|best| best.of(all.iter()).first().copied());
    if rules.iter().all(Rule::keeps_all) {
        return Actions { delete: Vec::new(), best };
    }
    let mut kept: BTreeSet<u64> = rules.iter().flat_map(|rule| rule.keeps(all)).collect();
    kept.extend(all.last().map(|about| about.iter));
    kept.extend(best);
    // A hook that is no longer configured has no rule.
    let is_known =
        |about: &Summary| about.asked_by.iter().all(|who| rules.iter().any(|r| r.who == *who));
    let gone = all.iter().filter(|about| is_known(about) && !kept.contains(&about.iter));
    Actions { delete: gone.map(|about| about.iter).collect(), best }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    /// Checkpoints of iterations 10, 20, …, one an epoch, with these accuracies.
    fn saved(values: &[f64], who: &str) -> Vec<Summary> {
        let about = |(index, value): (usize, &f64)| {
            let epoch = index as u64 + 1;
            let metrics = if value.is_finite() {
                BTreeMap::from([("val/Accuracy".to_owned(), *value)])
            } else {
                BTreeMap::new()
            };
            Summary { iter: 10 * epoch, epoch, asked_by: vec![who.to_owned()], metrics }
        };
        values.iter().enumerate().map(about).collect()
    }

    fn rule(who: &str, last: u64) -> Rule {
        Rule { who: who.to_owned(), last: Some(last), ..Rule::default() }
    }

    fn best(top: u64) -> Best {
        Best { metric: "val/Accuracy".to_owned(), better: Better::Higher, top }
    }

    #[test]
    fn without_a_limit_everything_stays() {
        assert_eq!(decide(&[], &saved(&[0.1, 0.2], "a")), Actions::default());
        let all = Rule { last: None, best: Some(best(1)), ..rule("a", 0) };
        let actions = decide(&[all], &saved(&[0.2, 0.1], "a"));
        assert_eq!(actions, Actions { delete: Vec::new(), best: Some(10) });
    }

    #[test]
    fn the_last_few_stay_and_every_nth_for_good() {
        let all = saved(&[0.0; 7], "a");
        assert_eq!(decide(&[rule("a", 2)], &all).delete, [10, 20, 30, 40, 50]);
        let every = Rule { every_epochs: 3, ..rule("a", 2) };
        assert_eq!(decide(&[every], &all).delete, [10, 20, 40, 50]);
        let every = Rule { every_iters: 20, ..rule("a", 1) };
        assert_eq!(decide(&[every], &all).delete, [10, 30, 50]);
    }

    #[test]
    fn the_best_stay_and_nan_is_never_best() {
        let all = saved(&[0.5, f64::NAN, 0.9, 0.9, 0.1], "a");
        let actions = decide(&[Rule { best: Some(best(1)), ..rule("a", 1) }], &all);
        assert_eq!(actions, Actions { delete: vec![10, 20, 40], best: Some(30) });
        let actions = decide(&[Rule { best: Some(best(2)), ..rule("a", 1) }], &all);
        assert_eq!(actions, Actions { delete: vec![10, 20], best: Some(30) });
        assert_eq!(
            decide(&[Rule { best: Some(best(1)), ..rule("a", 1) }], &saved(&[f64::NAN], "a")).best,
            None
        );
    }

    #[test]
    fn lower_may_be_better() {
        let lower = Best { metric: "val/Accuracy".to_owned(), better: Better::Lower, top: 1 };
        let actions =
            decide(&[Rule { best: Some(lower), ..rule("a", 1) }], &saved(&[0.5, 0.2, 0.9], "a"));
        assert_eq!(actions, Actions { delete: vec![10], best: Some(20) });
    }

    #[test]
    fn what_one_hook_wants_another_does_not_take_away() {
        let mut all = saved(&[0.5, 0.9, 0.1, 0.2], "periodic");
        all[1].asked_by.push("best".to_owned());
        let rules = [rule("periodic", 1), Rule { best: Some(best(1)), ..rule("best", 0) }];
        assert_eq!(decide(&rules, &all), Actions { delete: vec![10, 30], best: Some(20) });
        all[0].asked_by = vec!["gone".to_owned()];
        assert_eq!(decide(&rules, &all).delete, [30], "nobody knows what that hook wanted");
    }

    #[test]
    fn the_one_that_a_resume_would_use_always_stays() {
        let mut all = saved(&[0.9, 0.1], "a");
        // A checkpoint of an early end was requested by no hook; it is removed once there is a newer one.
        all[1].asked_by.clear();
        assert_eq!(decide(&[rule("a", 1)], &all).delete, Vec::<u64>::new());
        all.extend(saved(&[0.0, 0.0, 0.3], "a").into_iter().skip(2));
        assert_eq!(decide(&[rule("a", 1)], &all).delete, [10, 20]);
    }
}

//! The table of hooks per point, in order. Built once, before the first step.

use super::hook_spec::HookSpec;
use hookrack_plugin_api::Point;
use thiserror::Error;

/// The hooks of each point.
#[derive(Clone, Debug)]
pub struct Plan {
    rows: Vec<PointOrder>,
}

/// The hooks of one point, as indices into the specs, in the order in which they run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PointOrder {
    /// The point.
    pub point: Point,
    /// The point as which they are called: a phase's forward role falls back to the general one.
    pub called_as: Point,
    /// The hooks that run there.
    pub specs: Vec<usize>,
}

/// Why a plan is invalid.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum PlanError {
    #[error(
        "hooks `{first}` and `{second}` both provide the role {role}: a role has exactly one hook; remove one of them"
    )]
    TwoProviders { role: Point, first: String, second: String },
    /// Two hooks have the same name, under which checkpoints save their state.
    #[error("two hooks or metrics are named `{name}`: give one of them another name")]
    TwoOfOneName { name: String },
    /// A role with a cadence or phase, which would sometimes be skipped.
    #[error(
        "hook `{hook}` provides the role {role}, but `every` or `phase` would skip some steps, and a role must run in every step; remove \
         them from its entry"
    )]
    ThinnedRole { hook: String, role: Point },
    #[error(
        "no hook provides the role {role}: keep the default hook `main`, or configure a hook with this role"
    )]
    NoProvider { role: Point },
}

/// The roles that every step needs.
const NEEDED: [Point; 4] =
    [Point::OnTrainForward, Point::OnIterBackward, Point::OnOptimizerStep, Point::OnLrAdjust];

impl Plan {
    /// Orders the specs: by level, default hooks first among equals, then as they were configured.
    pub fn new(specs: &[HookSpec]) -> Result<Self, PlanError> {
        let mut names = std::collections::BTreeSet::new();
        if let Some(twin) = specs.iter().find(|spec| !names.insert(&spec.name)) {
            return Err(PlanError::TwoOfOneName { name: twin.name.clone() });
        }
        let mut order: Vec<usize> = (0..specs.len()).collect();
        order.sort_by_key(|&i| (specs[i].level, !specs[i].is_default, i));
        let mut rows = Vec::with_capacity(Point::COUNT);
        for &point in Point::ALL {
            let wanting = order.iter().copied().filter(|&i| specs[i].points.contains(&point));
            let mut called_as = point;
            let specs = if point.is_role() {
                let provider = provider(specs, point)?;
                called_as = provider.map_or(point, |(_, role)| role);
                if let Some((spec, role)) = provider
                    && !specs[spec].when.is_always()
                {
                    return Err(PlanError::ThinnedRole { hook: specs[spec].name.clone(), role });
                }
                provider.into_iter().map(|(spec, _)| spec).collect()
            } else if point.is_reversed() {
                let mut specs: Vec<_> = wanting.collect();
                specs.reverse();
                specs
            } else {
                wanting.collect()
            };
            rows.push(PointOrder { point, called_as, specs });
        }
        let plan = Self { rows };
        match NEEDED.into_iter().find(|role| plan.at(*role).is_empty()) {
            Some(role) => Err(PlanError::NoProvider { role }),
            None => Ok(plan),
        }
    }

    /// The hooks at a point.
    pub fn at(&self, point: Point) -> &[usize] {
        self.rows.get(point.code() as usize).map_or(&[], |row| &row.specs)
    }

    /// The point as which the hooks of a point are called.
    pub fn called_as(&self, point: Point) -> Point {
        self.rows.get(point.code() as usize).map_or(point, |row| row.called_as)
    }

    /// The points that have hooks, in the order in which a run reaches them, without `on_iter_forward`: it is
    /// called in place of the phases' own forward roles.
    pub fn rows(&self) -> impl Iterator<Item = &PointOrder> {
        let called = |row: &&PointOrder| !row.specs.is_empty() && row.point != Point::OnIterForward;
        let mut rows: Vec<_> = self.rows.iter().filter(called).collect();
        rows.sort_by_key(|row| row.point.place());
        rows.into_iter()
    }
}

/// The hook of a role: a configured one takes precedence over the built-in one, and for a forward pass a phase's own
/// role over the general one.
fn provider(specs: &[HookSpec], role: Point) -> Result<Option<(usize, Point)>, PlanError> {
    let general = match role {
        Point::OnTrainForward | Point::OnValForward | Point::OnPredForward => {
            Some(Point::OnIterForward)
        }
        _ => None,
    };
    for yielding in [false, true] {
        for role in [Some(role), general].into_iter().flatten() {
            let mut providers = (0..specs.len())
                .filter(|&i| specs[i].yields() == yielding && specs[i].points.contains(&role));
            match (providers.next(), providers.next()) {
                (Some(first), Some(second)) => {
                    let [first, second] = [first, second].map(|i| specs[i].name.clone());
                    return Err(PlanError::TwoProviders { role, first, second });
                }
                (Some(one), None) => return Ok(Some((one, role))),
                (None, _) => {}
            }
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use hookrack_plugin_api::Level;

    fn spec(name: &str, level: i64, is_default: bool, points: &[Point]) -> HookSpec {
        HookSpec { is_default, ..HookSpec::at(name, Level(level), points.to_vec()) }
    }

    fn main() -> HookSpec {
        HookSpec { is_default: true, ..HookSpec::main(30) }
    }

    fn names(specs: &[HookSpec], point: Point) -> Vec<String> {
        let plan = Plan::new(specs).unwrap();
        plan.at(point).iter().map(|&i| specs[i].name.clone()).collect()
    }

    #[test]
    fn lower_levels_run_first_and_defaults_before_custom_ones_of_equal_level() {
        let p = [Point::AfterIter, Point::OnDetach];
        let specs = [
            main(),
            spec("b", 30, false, &p),
            spec("huge", i64::MAX, false, &p),
            spec("a", 30, true, &p),
            spec("highest", 0, false, &p),
            spec("negative", i64::MIN, false, &p),
            spec("c", 30, false, &p),
        ];
        let order = ["negative", "highest", "a", "b", "c", "huge"];
        assert_eq!(names(&specs, Point::AfterIter), order);
        let mut reversed = order;
        reversed.reverse();
        assert_eq!(names(&specs, Point::OnDetach), reversed);
    }

    #[test]
    fn a_configured_hook_takes_a_role_from_the_built_in_one() {
        let specs = [main(), spec("mine", 90, false, &[Point::OnTrainForward])];
        assert_eq!(names(&specs, Point::OnTrainForward), ["mine"]);
        assert_eq!(names(&specs, Point::OnValForward), ["main"]);
        let specs = [main(), spec("mine", 90, false, &[Point::OnIterForward])];
        for role in [Point::OnTrainForward, Point::OnValForward, Point::OnPredForward] {
            assert_eq!(names(&specs, role), ["mine"]);
        }
    }

    #[test]
    fn a_role_cannot_be_thinned_out() {
        let mut thinned = main();
        thinned.when.every = crate::config::Every::Iters(2);
        let error = Plan::new(&[thinned]).unwrap_err().to_string();
        assert!(error.contains("`main`") && error.contains("on_iter_forward"), "{error}");
    }

    #[test]
    fn two_providers_or_none_are_errors_that_name_the_role() {
        let role = [Point::OnLrAdjust];
        let specs = [main(), spec("one", 1, false, &role), spec("two", 2, false, &role)];
        let error = Plan::new(&specs).unwrap_err().to_string();
        assert!(
            error.contains("on_lr_adjust") && error.contains("`one`") && error.contains("`two`"),
            "{error}"
        );
        let error = Plan::new(&[]).unwrap_err().to_string();
        assert!(error.contains("on_train_forward"), "{error}");
    }
}

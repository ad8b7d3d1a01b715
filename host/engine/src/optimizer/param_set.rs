//! The parameters that an optimizer is built for, and the rules that put them into groups.

use super::Group;
use super::partition::Partition;
use crate::data::Rank;
use crate::error::{EngineError, PatternList, Result};
use crate::name_pattern::NamePattern;
use crate::named_tensor::NamedTensor;

/// The settings of the parameters that a pattern matches.
#[derive(Debug, Clone, PartialEq)]
pub struct GroupRule {
    /// The pattern of their names.
    pub pattern: NamePattern,
    /// The factor on the optimizer's learning rate.
    pub lr_scale: f64,
    /// Their weight decay, if it is not the optimizer's.
    pub weight_decay: Option<f64>,
}

/// How parameters are put into groups. The first rule that matches a name wins; the rest is a group of its own.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct GroupRules {
    /// In order.
    pub rules: Vec<GroupRule>,
    /// No weight decay for parameters of at most one dimension (biases, and the scales of norms), unless
    /// their rule sets one.
    pub no_decay_on_norm_and_bias: bool,
}

/// Parameters, and how they are put into groups.
#[derive(Debug, Clone)]
pub struct ParamSet {
    params: Vec<NamedTensor>,
    rules: GroupRules,
    cut: Partition,
}

impl ParamSet {
    /// Parameters in one group.
    pub fn whole(params: &[NamedTensor]) -> Self {
        Self { params: params.to_vec(), rules: GroupRules::default(), cut: Partition::WHOLE }
    }

    /// The parameters of one stage of a model, in groups: a rule may be about those of another stage.
    pub fn of_stage(params: &[NamedTensor], rules: GroupRules) -> Self {
        Self { params: params.to_vec(), rules, cut: Partition::WHOLE }
    }

    /// Parameters in groups. A rule without any remaining match is an error.
    pub fn new(params: &[NamedTensor], rules: GroupRules) -> Result<Self> {
        let set = Self { params: params.to_vec(), rules, cut: Partition::WHOLE };
        for (index, rule) in set.rules.rules.iter().enumerate() {
            if set.params.iter().any(|param| set.rule_of(param) == Some(index)) {
                continue;
            }
            let mut names = set.params.iter().map(|param| param.name.as_str());
            let why = if names.clone().any(|name| rule.pattern.matches(name)) {
                EngineError::Shadowed { pattern: rule.pattern.text().to_owned() }
            } else {
                rule.pattern.unmatched(&mut names)
            };
            return Err(PatternList::Groups.error_at(index, why));
        }
        Ok(set)
    }

    /// The same parameters, of which each rank keeps the state of its share.
    #[must_use]
    pub fn sharded(mut self, rank: Rank) -> Self {
        self.cut.rank = rank;
        self
    }

    /// The same, divided by whole tensors: for an optimizer whose step needs whole tensors.
    #[must_use]
    pub fn by_tensor(&self) -> Self {
        Self { cut: Partition { by_tensor: true, ..self.cut }, ..self.clone() }
    }

    fn rule_of(&self, param: &NamedTensor) -> Option<usize> {
        self.rules.rules.iter().position(|rule| rule.pattern.matches(&param.name))
    }

    /// The groups, in the order of the rules, of an optimizer with this learning rate, weight decay and momentum.
    /// Frozen parameters are set aside in theirs.
    ///
    /// # Errors
    /// A parameter cannot be divided.
    pub fn groups(&self, lr: f64, weight_decay: f64, momentum: Option<f64>) -> Result<Vec<Group>> {
        let rules = (0..self.rules.rules.len()).map(Some).chain([None]);
        let kinds = rules.flat_map(|rule| [(rule, false), (rule, true)]);
        let members = |kind| {
            let params = self.params.iter().filter(|param| self.kind_of(param) == kind);
            (kind, params.cloned().collect::<Vec<_>>())
        };
        let kinds = kinds.map(members).filter(|(_, members)| !members.is_empty());
        let group = |((rule, is_flat), members): ((Option<usize>, bool), Vec<NamedTensor>)| {
            let rule = rule.map(|index| &self.rules.rules[index]);
            let own_decay =
                if is_flat { Some(0.0) } else { rule.and_then(|rule| rule.weight_decay) };
            let lr = lr * rule.map_or(1.0, |rule| rule.lr_scale);
            let numbers = (lr, own_decay.unwrap_or(weight_decay), momentum);
            Group::new(self.name(rule, is_flat), numbers, members, self.cut)
        };
        kinds.map(group).collect()
    }

    /// The rule that matches a parameter, and whether the switch disables its weight decay.
    fn kind_of(&self, param: &NamedTensor) -> (Option<usize>, bool) {
        let rule = self.rule_of(param);
        let has_own = rule.is_some_and(|index| self.rules.rules[index].weight_decay.is_some());
        let is_flat = param.tensor.dim() <= 1;
        (rule, self.rules.no_decay_on_norm_and_bias && is_flat && !has_own)
    }

    fn name(&self, rule: Option<&GroupRule>, is_flat: bool) -> String {
        match (rule, is_flat) {
            (Some(rule), false) => rule.pattern.text().to_owned(),
            (Some(rule), true) => format!("{} without decay", rule.pattern.text()),
            (None, true) => "no_decay".to_owned(),
            (None, false) if self.rules.no_decay_on_norm_and_bias => "decay".to_owned(),
            (None, false) if self.rules.rules.is_empty() => "all".to_owned(),
            (None, false) => "rest".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tch::Tensor;

    fn param(name: &str, shape: &[i64]) -> NamedTensor {
        let tensor = Tensor::zeros(shape, tch::kind::FLOAT_CPU).set_requires_grad(true);
        NamedTensor::new(name, tensor)
    }

    fn params() -> [NamedTensor; 4] {
        [
            param("body.weight", &[2, 2]),
            param("body.bias", &[2]),
            param("head.weight", &[2, 2]),
            param("head.bias", &[]),
        ]
    }

    fn rule(pattern: &str, lr_scale: f64, weight_decay: Option<f64>) -> GroupRule {
        GroupRule { pattern: NamePattern::parse(pattern).unwrap(), lr_scale, weight_decay }
    }

    fn groups(rules: Vec<GroupRule>, switch: bool) -> Vec<String> {
        let rules = GroupRules { rules, no_decay_on_norm_and_bias: switch };
        let groups = ParamSet::new(&params(), rules).unwrap().groups(1.0, 0.1, None).unwrap();
        let describe = |group: Group| {
            let names: Vec<_> = group.params.iter().map(|param| param.name.as_str()).collect();
            format!("{} {} {}: {}", group.name, group.lr, group.weight_decay, names.join(" "))
        };
        groups.into_iter().map(describe).collect()
    }

    #[test]
    fn without_rules_all_is_one_group_and_the_switch_makes_two() {
        assert_eq!(
            groups(vec![], false),
            ["all 1 0.1: body.weight body.bias head.weight head.bias"]
        );
        assert_eq!(
            groups(vec![], true),
            ["decay 1 0.1: body.weight head.weight", "no_decay 1 0: body.bias head.bias"]
        );
    }

    #[test]
    fn the_first_rule_wins_and_the_rest_is_a_group() {
        let rules = vec![rule("*.bias", 1.0, Some(0.0)), rule("body.*", 0.1, None)];
        assert_eq!(
            groups(rules, false),
            [
                "*.bias 1 0: body.bias head.bias",
                "body.* 0.1 0.1: body.weight",
                "rest 1 0.1: head.weight"
            ]
        );
    }

    #[test]
    fn the_switch_works_within_each_rule_that_says_no_decay_of_its_own() {
        let rules = vec![rule("body.*", 0.5, None), rule("head.*", 2.0, Some(0.3))];
        assert_eq!(
            groups(rules, true),
            [
                "body.* 0.5 0.1: body.weight",
                "body.* without decay 0.5 0: body.bias",
                "head.* 2 0.3: head.weight head.bias",
            ]
        );
    }

    #[test]
    fn a_rule_for_nothing_is_reported() {
        let error = |rules| {
            let rules = GroupRules { rules, no_decay_on_norm_and_bias: false };
            ParamSet::new(&params(), rules).unwrap_err().to_string()
        };
        assert_eq!(
            error(vec![rule("heads.*", 1.0, None)]),
            "no parameter matches `heads.*`: the nearest are `head.bias`, `head.weight`, `body.bias`"
        );
        assert_eq!(
            error(vec![rule("head.*", 1.0, None), rule("*d.bias", 1.0, None)]),
            "earlier patterns already match every parameter of `*d.bias`: move it up"
        );
    }

    #[test]
    fn frozen_parameters_wait_until_they_can_be_trained() {
        let params = params();
        let _ = params[0].tensor.set_requires_grad(false);
        let set = ParamSet::whole(&params);
        let mut groups = set.groups(1.0, 0.0, None).unwrap();
        assert_eq!((groups[0].params.len(), groups[0].list().len()), (3, 3));
        assert!(groups[0].admit().unwrap().is_empty());
        let _ = params[0].tensor.set_requires_grad(true);
        let admitted: Vec<_> =
            groups[0].admit().unwrap().iter().map(|piece| piece.name.clone()).collect();
        assert_eq!(admitted, ["body.weight"]);
        assert_eq!((groups[0].params.len(), groups[0].list().len()), (4, 4));
    }
}

//! `Sum`: several losses of one output, added up with weights.

use hookrack_plugin_api::Value;
use hookrack_plugin_api::prelude::Settings;
use tch::Tensor;

use super::{Criterion, LOSSES, LabelWeights};
use crate::data::{DataSpec, Target};
use crate::error::{EngineError, Result};
use crate::registry::{Build as _, Choice, Component};
use crate::tree::Tree;

/// Weighted sum of several losses, each a table with its `type`, its parameters and a `weight` (default 1).
#[derive(Debug, Clone, Settings)]
pub struct SumSettings {
    /// The losses, each a table like `[loss]` itself: `{ type = "L1", weight = 0.5 }`.
    pub losses: Vec<Tree>,
}

impl Component<DataSpec, dyn Criterion> for SumSettings {
    const NAME: &'static str = "Sum";

    fn build(self, data: &DataSpec) -> Result<Box<dyn Criterion>> {
        if self.losses.is_empty() {
            return Err(Self::refuse("losses is empty: add at least one"));
        }
        let terms = self.losses.into_iter().enumerate().map(|(index, Tree(table))| {
            let place = format!("losses.{index}");
            term(table, data).map_err(|why| Self::refuse_key(&place, why))
        });
        let sum = Sum { terms: terms.collect::<Result<_>>()? };
        if sum.differs() && matches!(data.target, Target::Classes(_)) {
            tracing::warn!(
                "the terms of loss `Sum` count labels in different ways (class_weights, ignore_index): micro-batches and \
                 batches are weighted by their number of rows, and the loss of a pass depends on the batch size"
            );
        }
        Ok(Box::new(sum))
    }
}

/// One loss and its weight, or what is wrong with its table.
fn term(table: Value, data: &DataSpec) -> std::result::Result<Term, String> {
    let Value::Table(mut fields) = table else {
        return Err(format!("expected a table, found a {}", table.kind()));
    };
    let weight = fields.iter().position(|(key, _)| key == "weight");
    let weight = weight.map(|place| fields.remove(place).1);
    let weight = match weight.as_ref().map(Value::as_f64) {
        None => 1.0,
        Some(Some(weight)) if weight.is_finite() => weight,
        Some(_) => return Err("`weight` is not a number".to_owned()),
    };
    let choice = Choice::from_table("loss", Value::Table(fields))?;
    let criterion = choice.build(LOSSES, data);
    Ok(Term { weight, criterion: criterion.map_err(|error| error.to_string())? })
}

/// The loss itself.
struct Sum {
    terms: Vec<Term>,
}

impl Sum {
    /// Whether its terms weigh labels in different ways.
    fn differs(&self) -> bool {
        let weights: Vec<_> = self.terms.iter().map(|it| it.criterion.label_weights()).collect();
        weights.windows(2).any(|pair| pair[0] != pair[1])
    }
}

struct Term {
    weight: f64,
    criterion: Box<dyn Criterion>,
}

impl Criterion for Sum {
    fn loss(&self, output: &Tensor, label: &Tensor) -> Result<Tensor> {
        let mut sum: Option<Tensor> = None;
        for Term { weight, criterion } in &self.terms {
            let term = criterion.loss(output, label)?.f_mul_scalar(*weight)?;
            sum = Some(match sum {
                Some(sum) => sum.f_add(&term)?,
                None => term,
            });
        }
        sum.ok_or(EngineError::NoTensor { name: "loss" })
    }

    /// Those of all terms, if they are the same. Whether they are must not depend on the labels: ranks and micro-batches have different ones.
    fn label_weights(&self) -> Option<&LabelWeights> {
        let first = self.terms.first()?.criterion.label_weights();
        first.filter(|_| !self.differs())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(fields: &[(&str, Value)]) -> Value {
        Value::Table(fields.iter().map(|(key, value)| ((*key).to_owned(), value.clone())).collect())
    }

    fn error(losses: Vec<Value>) -> String {
        let data = DataSpec { input: vec![1], target: Target::Values(vec![1]) };
        let choice = Choice::new("Sum", &[("losses", Value::List(losses))]);
        choice.build(LOSSES, &data).err().map(|error| error.to_string()).unwrap_or_default()
    }

    #[test]
    fn wrong_terms_are_reported_with_their_place() {
        let good = || table(&[("type", "L1".into()), ("weight", 2.into())]);
        assert_eq!(error(vec![good()]), "");
        assert_eq!(error(vec![]), "loss `Sum`: losses is empty: add at least one");
        let second = |fields: &[(&str, Value)]| error(vec![good(), table(fields)]);
        assert_eq!(second(&[]), "loss `Sum`: losses.1: missing `type`, the name of a loss");
        assert_eq!(
            second(&[("type", "L2".into())]),
            "loss `Sum`: losses.1: no loss is named `L2`: did you mean `L1`?"
        );
        assert_eq!(
            second(&[("type", "Huber".into()), ("delta", (-1.0).into())]),
            "loss `Sum`: losses.1: loss `Huber`: delta = -1 is less than 0"
        );
        assert_eq!(
            second(&[("type", "L1".into()), ("weight", "much".into())]),
            "loss `Sum`: losses.1: `weight` is not a number"
        );
        assert!(second(&[("type", "L1".into()), ("wieght", 1.into())]).contains("`wieght`"));
        assert_eq!(
            error(vec!["L1".into()]),
            "loss `Sum`: losses.0: expected a table, found a string"
        );
    }

    #[test]
    fn labels_weigh_by_their_number_only_if_all_terms_ignore_the_same_whatever_the_labels_are() {
        let data = DataSpec { input: vec![1], target: Target::Classes(3) };
        let term = |ignored: i64| {
            table(&[("type", "CrossEntropy".into()), ("ignore_index", ignored.into())])
        };
        let weigh = |second: i64, labels: &[i64]| {
            let losses = Value::List(vec![term(0), term(second)]);
            let sum = Choice::new("Sum", &[("losses", losses)]).build(LOSSES, &data).unwrap();
            sum.counted(&Tensor::from_slice(labels)).unwrap()
        };
        assert_eq!(weigh(0, &[0, 1, 2]), Some(2.0));
        assert_eq!(weigh(1, &[0, 1, 2]), None);
        assert_eq!(weigh(1, &[2, 2, 2]), None, "neither term ignores any of these");
    }
}

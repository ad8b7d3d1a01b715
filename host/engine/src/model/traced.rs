//! `train.mode = "graph"`: a built-in model as TorchScript graphs, one for each mode and shape of input.

use std::cell::RefCell;

use tch::{Kind, Tensor};

use super::dry_run::dry_run;
use super::{Mode, Model, ModelContext, ModelInfo};
use crate::error::{EngineError, Result};
use crate::named_tensor::tensor_list;
use hookrack_torch::trace::Graph;
use hookrack_torch::{TensorList, shape};

/// The maximum number of graphs: data whose shapes never repeat would fill the memory; further shapes run eagerly.
const MOST_GRAPHS: usize = 64;

/// A model that runs as graphs. Its parameters and buffers stay the model's own: they are inputs of each graph.
pub struct Traced {
    model: Box<dyn Model>,
    tensors: TensorList,
    graphs: RefCell<Vec<(Seen, Graph)>>,
}

/// What a graph was traced for. Shapes are constants in it, and so is the mode.
struct Seen {
    mode: Mode,
    kind: Kind,
    shape: Vec<i64>,
}

impl Seen {
    fn fits(&self, input: &Tensor, mode: Mode) -> bool {
        let mut sides = self.shape.iter().enumerate();
        self.mode == mode
            && self.kind == input.kind()
            && self.shape.len() == input.dim()
            && sides.all(|(index, side)| shape::side(input, index) == Some(*side))
    }
}

impl Traced {
    /// Wraps a model, if it can be traced.
    pub fn new(model: Box<dyn Model>, context: &ModelContext) -> Result<Self> {
        let mut tensors = tensor_list(model.params());
        tensors.extend(model.buffers().iter().map(|named| named.tensor.shallow_clone()));
        let traced = Self { model, tensors, graphs: RefCell::default() };
        dry_run(&traced, context).map_err(|why| EngineError::NoGraph { why: why.to_string() })?;
        traced.graphs.borrow_mut().clear();
        Ok(traced)
    }

    /// The first pass with a shape runs the model itself while it is traced: its output is used like any other.
    fn trace(&self, input: &Tensor, mode: Mode) -> Result<Tensor> {
        let mut graphs = self.graphs.borrow_mut();
        if graphs.len() >= MOST_GRAPHS {
            return self.model.forward(input, mode);
        }
        let body = || self.model.forward(input, mode);
        let (graph, output) = Graph::trace::<EngineError>(input, &self.tensors, body)?;
        graphs.push((Seen { mode, kind: input.f_kind()?, shape: input.size() }, graph));
        if graphs.len() == MOST_GRAPHS {
            tracing::warn!("{MOST_GRAPHS} shapes of input have a graph; further ones run eagerly");
        }
        Ok(output)
    }
}

impl Model for Traced {
    fn forward(&self, input: &Tensor, mode: Mode) -> Result<Tensor> {
        let graphs = self.graphs.borrow();
        if let Some((_, graph)) = graphs.iter().find(|(seen, _)| seen.fits(input, mode)) {
            return Ok(graph.run(input, &self.tensors)?);
        }
        drop(graphs);
        self.trace(input, mode)
    }

    fn info(&self) -> &ModelInfo {
        self.model.info()
    }

    fn is_graph(&self) -> bool {
        true
    }
}

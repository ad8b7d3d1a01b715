//! `FocalLossHook`: runs the model and computes the loss itself, so that the config needs no `[loss]`.

use hookrack_plugin_api::prelude::*;

static LOG_SOFTMAX: CachedOp = CachedOp::new("aten::log_softmax.int");
static UNSQUEEZE: CachedOp = CachedOp::new("aten::unsqueeze");
static GATHER: CachedOp = CachedOp::new("aten::gather");
static EXP: CachedOp = CachedOp::new("aten::exp");
static RSUB: CachedOp = CachedOp::new("aten::rsub.Scalar");
static POW: CachedOp = CachedOp::new("aten::pow.Tensor_Scalar");
static MUL: CachedOp = CachedOp::new("aten::mul.Tensor");
static MEAN: CachedOp = CachedOp::new("aten::mean");
static NEG: CachedOp = CachedOp::new("aten::neg");

/// Trains with the focal loss, in which what is classified well counts little (arXiv 1708.02002).
#[derive(Settings)]
pub struct FocalLoss {
    /// How little; 0 is cross entropy.
    #[param(default = 2.0, min = 0.0)]
    pub gamma: f64,
}

impl FocalLoss {
    /// The mean of `-(1 - p)^gamma ln p`, where `p` is the probability of the right class.
    fn loss(&self, t: &Trainer) -> Result<Tensor> {
        let logs = t.call(&LOG_SOFTMAX, &[(&t.output()?).into(), 1_i64.into()])?.tensor()?;
        let column = t.call(&UNSQUEEZE, &[(&t.label()?).into(), 1_i64.into()])?.tensor()?;
        let right = t.call(&GATHER, &[(&logs).into(), 1_i64.into(), (&column).into()])?.tensor()?;
        let sure = t.call(&EXP, &[(&right).into()])?.tensor()?;
        let unsure = t.call(&RSUB, &[(&sure).into(), 1.0.into()])?.tensor()?;
        let weight = t.call(&POW, &[(&unsure).into(), self.gamma.into()])?.tensor()?;
        let each = t.call(&MUL, &[(&weight).into(), (&right).into()])?.tensor()?;
        let mean = t.call(&MEAN, &[(&each).into()])?.tensor()?;
        t.call(&NEG, &[(&mean).into()])?.tensor()
    }
}

#[hook(mutates = "output, loss", writes = "nothing")]
impl Hook for FocalLoss {
    fn on_iter_forward(&mut self, t: &mut Trainer) -> Result<()> {
        t.forward()?;
        if t.phase() == Phase::Pred {
            return Ok(());
        }
        let loss = self.loss(t)?;
        t.set_loss(&loss)
    }
}

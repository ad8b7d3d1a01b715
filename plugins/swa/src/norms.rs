//! Statistics of batch norms for the averaged weights: recomputed over the training data, since no epoch ran with these weights.

use hookrack_plugin_api::prelude::*;

/// So far from the statistics of any batch that the contribution of one batch is negligible.
const FAR: f64 = 1e15;

/// The model's own buffers while those of the average are swapped in, and the last statistics that were gathered.
#[derive(Default)]
pub struct Norms {
    own: Option<TensorList>,
    gathered: TensorList,
    // The number of updates of the average when they were gathered.
    updates: u64,
}

/// The buffers whose names have this ending, as handles to the model's own.
fn ending(t: &Trainer, ends: &[&str]) -> Result<TensorList> {
    let mut list = TensorList::default();
    for (name, buffer) in t.buffer_names()?.iter().zip(t.buffers().iter()) {
        if ends.iter().any(|end| name.ends_with(end)) {
            list.push(buffer)?;
        }
    }
    Ok(list)
}

fn fill(tensors: &TensorList, value: f64) -> Result<()> {
    tensors.iter().try_for_each(|one| one.fill_(value))
}

/// The momentum of each running statistic: the share of a batch's statistics that one forward pass adds. Measured by a
/// pass that starts from distant values, so that it works for any kind of model.
fn momenta(t: &mut Trainer, running: &TensorList, input: &Tensor) -> Result<Vec<f64>> {
    fill(running, FAR)?;
    t.forward_in(input, true)?;
    let part = |one: Tensor| Ok(1.0 - one.mean()?.item()? / FAR);
    running.iter().map(part).collect()
}

/// Gives each batch of the training data, or of its first batches, the same weight in the running statistics, as
/// `torch.optim.swa_utils.update_bn` does. Returns the number of batches.
fn gather(t: &mut Trainer, most: u64) -> Result<u64> {
    let running = ending(t, &["running_mean", "running_var"])?;
    let counters = ending(t, &["num_batches_tracked"])?;
    let sums = running.clone_detached()?;
    sums.zero_()?;
    let (mut parts, mut count) = (Vec::new(), 0);
    t.begin_pass(Phase::Train)?;
    while most == 0 || count < most {
        let Some((input, _)) = t.next_of_pass()? else { break };
        if parts.is_empty() {
            counters.zero_()?;
            parts = momenta(t, &running, &input)?;
        }
        running.zero_()?;
        counters.zero_()?;
        t.forward_in(&input, true)?;
        sums.add_(&running)?;
        count += 1;
    }
    running.copy_(&sums)?;
    for (one, part) in running.iter().zip(parts) {
        #[expect(clippy::cast_precision_loss, reason = "there are far fewer batches than 2^53")]
        let factor = 1.0 / (part * count as f64);
        one.mul_(factor)?;
    }
    #[expect(clippy::cast_precision_loss, reason = "there are far fewer batches than 2^53")]
    fill(&counters, count as f64)?;
    Ok(count)
}

impl Norms {
    /// Swaps in statistics for the weights that are in the model now; they are recomputed if the average has changed
    /// since. At most `most` batches are used, 0 for all.
    pub fn swap_in(&mut self, t: &mut Trainer, updates: u64, most: u64) -> Result<()> {
        if self.own.is_some() || ending(t, &["running_mean"])?.is_empty() {
            return Ok(());
        }
        self.own = Some(t.buffers().clone_detached()?);
        if self.updates == updates {
            return t.buffers().copy_(&self.gathered);
        }
        let count = gather(t, most)?;
        debug!("recomputed the batch norm statistics over {count} batches");
        (self.gathered, self.updates) = (t.buffers().clone_detached()?, updates);
        Ok(())
    }

    /// Swaps the model's own statistics back in, if others are in place.
    pub fn swap_out(&mut self, t: &Trainer) -> Result<()> {
        self.own.take().map_or(Ok(()), |own| t.buffers().copy_(&own))
    }

    /// The statistics gathered after this many updates of the average; `None` if there are none.
    pub fn gathered(&self, updates: u64) -> Option<&TensorList> {
        (self.updates == updates && updates > 0).then_some(&self.gathered)
    }
}

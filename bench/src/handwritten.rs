//! A hand-written training loop with tch alone.

use crate::error::BenchError;
use tch::nn::{self, Module, OptimizerConfig};
use tch::{Device, Kind, Tensor};

/// Samples in a batch.
const BATCH: i64 = 64;

/// The data, in memory.
pub(crate) struct Data {
    pub(crate) images: Tensor,
    pub(crate) labels: Tensor,
}

/// Model, optimizer and the order of the samples.
pub(crate) struct HandWritten<'a> {
    data: &'a Data,
    net: nn::Sequential,
    optimizer: nn::Optimizer,
    order: Tensor,
    next: i64,
}

impl<'a> HandWritten<'a> {
    /// An MLP 784-64-10 with SGD and momentum.
    pub(crate) fn new(data: &'a Data, seed: i64) -> Result<Self, BenchError> {
        tch::manual_seed(seed);
        let variables = nn::VarStore::new(Device::Cpu);
        let root = variables.root();
        let net = nn::seq()
            .add(nn::linear(&root / "fc1", 784, 64, nn::LinearConfig::default()))
            .add_fn(Tensor::relu)
            .add(nn::linear(&root / "fc2", 64, 10, nn::LinearConfig::default()));
        let optimizer = nn::Sgd { momentum: 0.9, ..nn::Sgd::default() }.build(&variables, 0.01)?;
        let order = Tensor::randperm(
            data.labels.numel().try_into().unwrap_or(0),
            (Kind::Int64, Device::Cpu),
        );
        Ok(Self { data, net, optimizer, order, next: 0 })
    }

    /// Trains for some iterations; reads the loss as often as the host's logger does.
    pub(crate) fn train(&mut self, iters: u64) -> f64 {
        let mut last = f64::NAN;
        for iter in 1..=iters {
            let (images, labels) = self.batch();
            let loss = self.net.forward(&images).cross_entropy_for_logits(&labels);
            self.optimizer.zero_grad();
            loss.backward();
            self.optimizer.step();
            if iter % 20 == 0 {
                last = loss.double_value(&[]);
            }
        }
        last
    }

    fn batch(&mut self) -> (Tensor, Tensor) {
        let samples = i64::try_from(self.data.labels.numel()).unwrap_or(0);
        if self.next + BATCH > samples {
            self.order = Tensor::randperm(samples, (Kind::Int64, Device::Cpu));
            self.next = 0;
        }
        let rows = self.order.narrow(0, self.next, BATCH);
        self.next += BATCH;
        (self.data.images.index_select(0, &rows), self.data.labels.index_select(0, &rows))
    }
}

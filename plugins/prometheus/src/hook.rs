//! `PrometheusHook`: updates the page.

use crate::exposition::Snapshot;
use crate::server::Server;
use hookrack_plugin_api::prelude::*;

/// Serves the scalars of the run at `http://127.0.0.1:PORT/metrics`, for Prometheus to scrape.
#[derive(Settings)]
pub struct PrometheusHook {
    /// Port on the loopback interface; 0 chooses a free one and logs it.
    #[param(default = 9464)]
    port: u16,
    #[param(skip)]
    server: Option<Server>,
    #[param(skip)]
    run: String,
}
#[expect(clippy::cast_precision_loss, reason = "a run has far fewer samples than 2^53")]
fn gauges(t: &Trainer) -> Vec<(&'static str, &'static str, f64)> {
    vec![
        ("hookrack_epoch", "The epoch in progress.", t.epoch() as f64),
        ("hookrack_epochs", "The epoch after which training ends.", t.max_epochs() as f64),
        ("hookrack_iteration", "The training iteration in progress.", t.iter() as f64),
        ("hookrack_iterations", "The iteration after which training ends.", t.max_iters() as f64),
        ("hookrack_samples", "Training samples consumed so far.", t.samples() as f64),
        ("hookrack_learning_rate", "The largest group's learning rate.", t.lr()),
        ("hookrack_iteration_seconds", "The time of the last iteration.", t.iter_time()),
        (
            "hookrack_running",
            "1 while the run is in progress.",
            f64::from(u8::from(t.outcome().is_none())),
        ),
    ]
}

impl PrometheusHook {
    fn refresh(&self, t: &Trainer) -> Result<()> {
        let Some(server) = &self.server else { return Ok(()) };
        let scalars = t.scalars()?.into_iter().map(|one| (one.name, one.latest)).collect();
        server.publish(Snapshot { run: self.run.clone(), gauges: gauges(t), scalars }.text());
        Ok(())
    }
}

#[hook(
    level = 53,
    ranks = "main",
    every = "10it",
    reads = "events, metrics, lr, time",
    writes = "nothing"
)]
impl Hook for PrometheusHook {
    fn before_run(&mut self, t: &mut Trainer) -> Result<()> {
        let folder = t.run_dir();
        let name = folder.as_deref().and_then(|path| path.file_name());
        self.run = name.map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let server = Server::start(self.port)
            .map_err(|error| Error::new(format!("cannot serve on port {}: {error}", self.port)))?;
        info!("http://{}/metrics", server.address());
        self.server = Some(server);
        self.refresh(t)
    }

    fn after_train_iter(&mut self, t: &mut Trainer) -> Result<()> {
        self.refresh(t)
    }

    fn after_eval(&mut self, t: &mut Trainer) -> Result<()> {
        self.refresh(t)
    }

    fn after_cycle(&mut self, t: &mut Trainer) -> Result<()> {
        self.refresh(t)
    }

    fn after_train(&mut self, t: &mut Trainer) -> Result<()> {
        self.refresh(t)
    }

    fn on_detach(&mut self, _t: &mut Trainer) -> Result<()> {
        self.server = None;
        Ok(())
    }
}

//! `WebhookHook`: which events are posted when.

use crate::sender::{Policy, Sender};
use crate::url::Url;
use hookrack_plugin_api::prelude::*;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Posts events of the run to a URL as JSON, in the background: a step never waits for the network.
#[derive(Settings)]
pub struct WebhookHook {
    /// URL to post to: `http://…`; for https use a proxy on this machine.
    #[param(check = |url: &str| Url::parse(url).map(drop))]
    url: String,
    /// Events to post.
    #[param(default = [Event::Begun, Event::Epoch, Event::Validated, Event::Saved, Event::Failed, Event::Ended])]
    events: Vec<Event>,
    /// Timeout of one request in seconds.
    #[param(default = 5.0, min = 0.01)]
    timeout: f64,
    /// Maximum number of retries.
    #[param(default = 3)]
    retries: u32,
    /// Maximum number of queued events; more are dropped.
    #[param(default = 64, min = 1)]
    queue: usize,
    /// Seconds to wait at the end of the run for queued events.
    #[param(default = 5.0, min = 0)]
    flush_timeout: f64,
    #[param(skip)]
    sender: Option<Sender>,
}

/// An event.
#[derive(Clone, Copy, Settings, PartialEq)]
enum Event {
    Begun,
    Epoch,
    Validated,
    Saved,
    Failed,
    Ended,
}

impl Event {
    fn name(self) -> &'static str {
        match self {
            Self::Begun => "begun",
            Self::Epoch => "epoch",
            Self::Validated => "validated",
            Self::Saved => "saved",
            Self::Failed => "failed",
            Self::Ended => "ended",
        }
    }
}

#[expect(clippy::cast_possible_wrap, reason = "a run has far fewer samples than 2^63")]
fn describe(event: Event, t: &Trainer) -> Result<String> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64();
    let run = t.run_dir().map(|path| path.display().to_string()).unwrap_or_default();
    let mut fields = vec![
        ("event".to_owned(), Value::from(event.name())),
        ("run".to_owned(), Value::Str(run)),
        ("time".to_owned(), Value::Float(now)),
        ("epoch".to_owned(), Value::Int(t.epoch() as i64)),
        ("iter".to_owned(), Value::Int(t.iter() as i64)),
        ("max_epochs".to_owned(), Value::Int(t.max_epochs() as i64)),
        ("max_iters".to_owned(), Value::Int(t.max_iters() as i64)),
    ];
    if let Some(outcome) = t.outcome() {
        let outcome = match outcome {
            Outcome::Completed => "completed",
            Outcome::Stopped => "stopped",
            Outcome::Interrupted => "interrupted",
            Outcome::Failed => "failed",
        };
        fields.push(("outcome".to_owned(), Value::from(outcome)));
    }
    if let Some(failure) = t.failure() {
        fields.push(("failure".to_owned(), Value::Str(failure)));
    }
    let scalars = t.scalars()?.into_iter().map(|one| (one.name, Value::Float(one.latest)));
    fields.push(("scalars".to_owned(), Value::Table(scalars.collect())));
    let mut text = String::new();
    Value::Table(fields).write_json(&mut text);
    Ok(text)
}

impl WebhookHook {
    fn notify(&mut self, event: Event, t: &Trainer) -> Result<()> {
        if t.rank() == 0
            && self.events.contains(&event)
            && let Some(sender) = &mut self.sender
        {
            sender.send(describe(event, t)?);
        }
        Ok(())
    }
}

#[hook(level = 54, ranks = "main", reads = "events, metrics", writes = "nothing")]
impl Hook for WebhookHook {
    fn before_run(&mut self, t: &mut Trainer) -> Result<()> {
        let url = Url::parse(&self.url).map_err(Error::new)?;
        let policy = Policy {
            timeout: Duration::from_secs_f64(self.timeout),
            retries: self.retries,
            backoff: Duration::from_millis(200),
            room: self.queue,
        };
        let sender = Sender::start(url, policy);
        self.sender =
            Some(sender.map_err(|error| Error::new(format!("could not start a thread: {error}")))?);
        self.notify(Event::Begun, t)
    }

    fn after_cycle(&mut self, t: &mut Trainer) -> Result<()> {
        self.notify(Event::Epoch, t)
    }

    // Of a whole pass: `after_eval` also follows one that was cut short.
    fn after_eval_epoch(&mut self, t: &mut Trainer) -> Result<()> {
        self.notify(Event::Validated, t)
    }

    fn after_save_checkpoint(&mut self, t: &mut Trainer) -> Result<()> {
        self.notify(Event::Saved, t)
    }

    fn on_exception(&mut self, t: &mut Trainer) -> Result<()> {
        self.notify(Event::Failed, t)
    }

    fn after_run(&mut self, t: &mut Trainer) -> Result<()> {
        self.notify(Event::Ended, t)
    }

    fn on_detach(&mut self, _t: &mut Trainer) -> Result<()> {
        let Some(mut sender) = self.sender.take() else { return Ok(()) };
        let patience = Duration::from_secs_f64(self.flush_timeout);
        if !sender.finish(patience) {
            warn!("events were still queued after {} s: they are not posted", self.flush_timeout);
        }
        if sender.dropped() > 0 {
            warn!("{} events were dropped: the queue of {} was full", sender.dropped(), self.queue);
        }
        Ok(())
    }
}

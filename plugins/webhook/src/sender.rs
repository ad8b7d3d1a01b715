//! A bounded queue of texts and the thread that posts them, with retries.

use crate::post::{Answer, post};
use crate::url::Url;
use hookrack_plugin_api::warn;
use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// Limits of posts and of the queue.
#[derive(Clone, Debug)]
pub struct Policy {
    /// Time limit of one post.
    pub timeout: Duration,
    /// Maximum number of retries.
    pub retries: u32,
    /// The wait before the first retry; it doubles each time.
    pub backoff: Duration,
    /// Maximum number of queued texts; further ones are dropped and counted.
    pub room: usize,
}

/// Posts texts one after the other, on its own thread.
pub struct Sender {
    queue: Option<SyncSender<String>>,
    done: Receiver<()>,
    thread: Option<JoinHandle<()>>,
    dropped: u64,
}

impl Sender {
    /// Starts the thread.
    ///
    /// # Errors
    /// No thread could be started.
    pub fn start(url: Url, policy: Policy) -> io::Result<Self> {
        let (queue, texts) = sync_channel::<String>(policy.room);
        let (finished, done) = sync_channel(1);
        let work = move || {
            for text in texts {
                deliver(&url, &text, &policy);
            }
            let _ = finished.send(());
        };
        let thread = std::thread::Builder::new().name("webhook".into()).spawn(work)?;
        Ok(Self { queue: Some(queue), done, thread: Some(thread), dropped: 0 })
    }

    /// Queues a text; where the queue is full it is dropped. Never waits.
    pub fn send(&mut self, text: String) {
        let Some(queue) = &self.queue else { return };
        if queue.try_send(text).is_err() {
            self.dropped += 1;
        }
    }

    /// How many texts were dropped.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// Lets the thread post what is left, for so long at most; true where it did.
    pub fn finish(&mut self, patience: Duration) -> bool {
        self.queue = None;
        if self.done.recv_timeout(patience) == Err(RecvTimeoutError::Timeout) {
            // The thread is left to itself: it ends with the process.
            return false;
        }
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        true
    }
}

fn deliver(url: &Url, text: &str, policy: &Policy) {
    let mut wait = policy.backoff;
    for attempt in 0..=policy.retries {
        let problem = match post(url, text, policy.timeout) {
            Ok(Answer::Taken) => return,
            Ok(Answer::Refused(code)) => {
                warn!("{} rejected an event with status {code}", url.authority());
                return;
            }
            Ok(Answer::Busy(code)) => format!("status {code}"),
            Err(error) => error.to_string(),
        };
        if attempt == policy.retries {
            warn!("could not deliver an event to {}: {problem}", url.authority());
        } else {
            std::thread::sleep(wait);
            wait = wait.saturating_mul(2);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{BufRead as _, BufReader, Read as _, Write as _};
    use std::net::TcpListener;
    use std::sync::mpsc;
    use std::time::Instant;

    fn policy() -> Policy {
        let second = Duration::from_secs(1);
        Policy { timeout: second, retries: 2, backoff: Duration::from_millis(5), room: 2 }
    }

    /// Answers each request with the next status and gives the bodies back.
    fn server(statuses: Vec<u16>) -> (Url, Receiver<String>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let (send, bodies) = mpsc::channel();
        std::thread::spawn(move || {
            for status in statuses {
                let (mut stream, _) = listener.accept().unwrap();
                let mut reader = BufReader::new(stream.try_clone().unwrap());
                let (mut line, mut length) = (String::new(), 0);
                while reader.read_line(&mut line).unwrap() > 2 {
                    if let Some(text) = line.strip_prefix("Content-Length: ") {
                        length = text.trim().parse().unwrap();
                    }
                    line.clear();
                }
                let mut body = vec![0; length];
                reader.read_exact(&mut body).unwrap();
                send.send(String::from_utf8(body).unwrap()).unwrap();
                write!(stream, "HTTP/1.1 {status} X\r\nContent-Length: 0\r\n\r\n").unwrap();
            }
        });
        (Url { host: "127.0.0.1".into(), port, path: "/".into() }, bodies)
    }

    #[test]
    fn what_fails_is_tried_again_and_what_is_refused_is_not() {
        let (url, bodies) = server(vec![503, 200, 404, 200]);
        let mut sender = Sender::start(url, policy()).unwrap();
        for text in ["one", "two", "three"] {
            sender.send(text.to_owned());
            std::thread::sleep(Duration::from_millis(50));
        }
        assert!(sender.finish(Duration::from_secs(10)));
        let bodies: Vec<_> = bodies.try_iter().collect();
        assert_eq!(bodies, ["one", "one", "two", "three"]);
        assert_eq!(sender.dropped(), 0);
    }

    #[test]
    fn a_dead_receiver_costs_neither_time_nor_memory() {
        // Nobody accepts: the connection waits in the listener's queue, and the answer never comes.
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let url = Url { host: "127.0.0.1".into(), port, path: "/".into() };
        let mut sender = Sender::start(url, policy()).unwrap();
        let began = Instant::now();
        for _ in 0..1000 {
            sender.send("x".into());
        }
        assert!(began.elapsed() < Duration::from_millis(500), "{:?}", began.elapsed());
        assert!(sender.dropped() >= 997, "{}", sender.dropped());
        assert!(!sender.finish(Duration::from_millis(10)));
    }
}

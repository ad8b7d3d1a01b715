//! The plugins that export a run to other programs: a page for Prometheus, posts to a URL.

use crate::patience::{signal, until, wait};
use crate::workbench::{Bench, hook};
use serde_json::Value as Json;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Stdio};
use std::sync::mpsc;
use std::time::Duration;

/// Answers each request with 200 and returns what was posted, until the sender disconnects.
fn receiver() -> (u16, mpsc::Receiver<Json>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let (send, posts) = mpsc::channel();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
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
            write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").unwrap();
            if send.send(serde_json::from_slice(&body).unwrap()).is_err() {
                return;
            }
        }
    });
    (port, posts)
}

#[test]
fn events_of_a_run_are_posted_in_order() {
    let (port, posts) = receiver();
    let bench = Bench::new(&format!(
        "[[custom_hooks]]\ntype = \"WebhookHook\"\nurl = \"http://127.0.0.1:{port}/run?x=1\"\n"
    ));
    bench.trained("run", &[]);
    let posts: Vec<Json> = posts.try_iter().collect();
    let events: Vec<_> = posts.iter().map(|post| post["event"].as_str().unwrap()).collect();
    let epoch = ["validated", "epoch", "saved"];
    assert_eq!(events, [&["begun"][..], &epoch, &epoch, &["ended"]].concat());
    let last = posts.last().unwrap();
    assert_eq!((last["outcome"].as_str(), last["iter"].as_u64()), (Some("completed"), Some(4)));
    assert!(last["run"].as_str().unwrap().ends_with("run"), "{last}");
    assert!(last["scalars"]["val/Accuracy"].is_f64(), "{last}");
}

#[test]
fn a_failure_is_posted_and_a_receiver_that_is_gone_does_not_harm_the_run() {
    let (port, posts) = receiver();
    let bench = Bench::new(&format!(
        "[[custom_hooks]]\ntype = \"WebhookHook\"\nurl = \"http://127.0.0.1:{port}/\"\nevents = [\"failed\"]\n\
         [[custom_hooks]]\ntype = \"TerminateOnNaN\"\n"
    ));
    let (ran, _) = bench.train("run", &["optimizer.lr=1e38"]);
    ran.expect(4);
    let failed = posts.recv_timeout(Duration::from_secs(5)).unwrap();
    assert!(failed["failure"].as_str().unwrap().contains("the loss is"), "{failed}");

    let gone = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let url = format!("custom_hooks.0.url=http://{gone}/");
    let more = [&url, "custom_hooks.0.retries=0", "custom_hooks.0.events=[\"begun\"]"];
    let (ran, _) = bench.train("gone", &more);
    ran.expect(0).says(&["could not deliver an event to"]);
    let https = ["check", "config.toml", "custom_hooks.0.url=https://example.org/"];
    bench.run(https).expect(2).says(&["url: \"https://example.org/\"", "proxy on this machine"]);
}

/// Starts a run without end that serves its scalars.
fn served(bench: &Bench) -> Child {
    let endless = ["train", "config.toml", "--run-dir", "run", "train.max_epochs=100000"];
    let mut command = bench.command(endless);
    command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

/// Where it serves them, once it does.
fn address(bench: &Bench) -> Option<String> {
    let log = bench.read("run/log.txt");
    Some(log.split_once("http://")?.1.split_once("/metrics")?.0.to_owned())
}

#[test]
fn a_client_that_sends_a_byte_now_and_then_does_not_hold_the_end_of_a_run() {
    let bench = Bench::new(&hook("PrometheusHook", "port = 0"));
    let mut run = served(&bench);
    until("the page is served", || address(&bench).is_some());
    let mut client = TcpStream::connect(address(&bench).unwrap()).unwrap();
    client.write_all(b"G").unwrap();
    // No request may be longer than 8192 bytes: at this pace that is half an hour.
    let slow = std::thread::spawn(move || {
        while client.write_all(b"G").is_ok() {
            std::thread::sleep(Duration::from_millis(200));
        }
    });
    signal(&run, "INT");
    assert_eq!(wait(&mut run).code(), Some(130));
    slow.join().unwrap();
}

#[test]
fn scalars_are_served_during_a_run() {
    // Long enough to request the page in the middle of it.
    let bench = Bench::new(&hook("PrometheusHook", "port = 0\ninterval = 1"));
    let mut run = served(&bench);
    let page = std::iter::repeat_with(|| {
        std::thread::sleep(Duration::from_millis(100));
        let mut client = TcpStream::connect(address(&bench)?).ok()?;
        client.set_read_timeout(Some(Duration::from_secs(10))).ok()?;
        client.write_all(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n").ok()?;
        let mut page = String::new();
        client.read_to_string(&mut page).ok()?;
        page.contains("val/Accuracy").then_some(page)
    })
    .take(600)
    .flatten()
    .next();
    run.kill().unwrap();
    run.wait().unwrap();
    let page = page.expect("no page with a validation in it");
    assert!(page.starts_with("HTTP/1.1 200 OK"), "{page}");
    for part in [
        "# TYPE hookrack_scalar gauge\n",
        "hookrack_running{run=\"run\"} 1\n",
        "hookrack_scalar{run=\"run\",name=\"train/loss\"} ",
    ] {
        assert!(page.contains(part), "{part} is not in\n{page}");
    }
}

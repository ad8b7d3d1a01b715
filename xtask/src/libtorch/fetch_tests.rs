//! Downloads from a small local server that breaks off, ignores ranges or has no hashes.

use std::{
    io::{Read as _, Write as _},
    net::{TcpListener, TcpStream},
    sync::{Arc, Mutex},
    thread,
};

use super::*;

const SIZE: usize = 300_000;

/// How the server treats a request for the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Manner {
    Fair,
    /// Sends this many bytes of the first answer, then closes.
    BreaksOffOnce(usize),
    /// Answers a range request with the whole file.
    IgnoresRanges,
    /// Refuses to send the file.
    Forbids,
}

struct Server {
    index: String,
    /// The `Range` header of every request for the file, or "" without one.
    ranges: Arc<Mutex<Vec<String>>>,
}

fn content() -> Vec<u8> {
    (0..SIZE).map(|i| u8::try_from(i * 31 % 251).unwrap()).collect()
}

/// The wheel whose hash belongs to [`content`].
fn wheel() -> Wheel {
    use sha2::{Digest as _, Sha256};
    let sha256 = super::super::verify::hex(&Sha256::digest(content()));
    Wheel {
        project: "some-project",
        version: "1",
        file: "some_project-1.whl",
        bytes: SIZE as u64,
        sha256: Box::leak(sha256.into_boxed_str()),
        keep: &[],
        target: &[],
    }
}

fn serve(page: String, kind: &'static str, manner: Manner) -> Server {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let index = format!("http://{}/simple", listener.local_addr().unwrap());
    let ranges = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&ranges);
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            answer(stream, &page, kind, manner, &seen);
        }
    });
    Server { index, ranges }
}

fn answer(
    mut stream: TcpStream,
    page: &str,
    kind: &str,
    manner: Manner,
    seen: &Mutex<Vec<String>>,
) {
    let request = head(&mut stream);
    let body = content();
    if request.starts_with("GET /simple/some-project/ ") {
        let size = page.len();
        let head =
            format!("HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {size}\r\n\r\n");
        stream.write_all((head + page).as_bytes()).unwrap();
        return;
    }
    let range = request
        .lines()
        .find_map(|line| line.strip_prefix("Range: "))
        .unwrap_or_default()
        .to_owned();
    let first = {
        let mut seen = seen.lock().unwrap();
        seen.push(range.clone());
        seen.len() == 1
    };
    let from: usize = match range.strip_prefix("bytes=") {
        Some(span) if manner != Manner::IgnoresRanges => {
            span.trim_end_matches('-').parse().unwrap()
        }
        _ => 0,
    };
    let status = match (manner, from) {
        (Manner::Forbids, _) => "403 Forbidden".to_owned(),
        (_, 0) => "200 OK".to_owned(),
        _ => format!("206 Partial Content\r\nContent-Range: bytes {from}-{}/{SIZE}", SIZE - 1),
    };
    let rest = &body[from..];
    let sent = match manner {
        Manner::BreaksOffOnce(bytes) if first => &rest[..bytes],
        _ => rest,
    };
    write!(stream, "HTTP/1.1 {status}\r\nContent-Length: {}\r\n\r\n", rest.len()).unwrap();
    drop(stream.write_all(sent));
}

/// A request up to its empty line.
fn head(stream: &mut TcpStream) -> String {
    let mut text = Vec::new();
    let mut byte = [0];
    while !text.ends_with(b"\r\n\r\n") && stream.read(&mut byte).unwrap() == 1 {
        text.push(byte[0]);
    }
    String::from_utf8(text).unwrap()
}

/// A project page as an index writes it, with or without the hash of the file.
fn html(hash: Option<&str>) -> String {
    let fragment = hash.map(|hash| format!("#sha256={hash}")).unwrap_or_default();
    format!(
        "<!DOCTYPE html><html><body><a href=\"../../files/other-1.whl#sha256=00\">other-1.whl</a><br/>\
         <a href=\"../../files/some_project-1.whl{fragment}\" data-requires-python=\"&gt;=3.9\">some_project-1.whl</a>\
         </body></html>"
    )
}

/// Fetches from a server, with `there` bytes of an earlier download.
fn fetched(server: &Server, there: usize) -> (Outcome, Vec<u8>) {
    let folder = tempfile::tempdir().unwrap();
    let part = folder.path().join("some_project-1.whl.part");
    if there > 0 {
        fs::write(&part, &content()[..there]).unwrap();
    }
    let outcome = from_index(folder.path(), &wheel(), &part, Some(&server.index)).unwrap();
    (outcome, fs::read(&part).unwrap_or_default())
}

fn ranges(server: &Server) -> Vec<String> {
    server.ranges.lock().unwrap().clone()
}

/// Fetches the whole file, and returns the ranges that were asked for.
fn completes(server: &Server, there: usize) -> Vec<String> {
    let (outcome, bytes) = fetched(server, there);
    assert!(matches!(outcome, Outcome::Complete), "{outcome:?}");
    assert_eq!(bytes, content());
    ranges(server)
}

#[test]
fn a_whole_download_has_the_right_bytes() {
    let server = serve(html(Some(wheel().sha256)), "text/html", Manner::Fair);
    assert_eq!(completes(&server, 0), [""]);
}

#[test]
fn an_interrupted_download_asks_only_for_the_rest() {
    let server = serve(html(Some(wheel().sha256)), "text/html", Manner::Fair);
    assert_eq!(completes(&server, 123_456), ["bytes=123456-"]);
}

#[test]
fn a_broken_connection_is_resumed_at_once() {
    let server = serve(html(Some(wheel().sha256)), "text/html", Manner::BreaksOffOnce(100_000));
    assert_eq!(completes(&server, 0), ["", "bytes=100000-"]);
}

#[test]
fn a_server_without_ranges_makes_it_start_over() {
    let server = serve(html(Some(wheel().sha256)), "text/html", Manner::IgnoresRanges);
    completes(&server, 5_000);
}

#[test]
fn a_json_page_is_read_too() {
    let page = format!(
        "{{\"files\": [{{\"filename\": \"x.whl\", \"url\": \"/files/x.whl\", \"hashes\": {{}}}}, {{\"filename\": \
         \"renamed.whl\", \"url\": \"/files/some_project-1.whl\", \"hashes\": {{\"sha256\": \"{}\"}}}}]}}",
        wheel().sha256
    );
    let server = serve(page, "application/vnd.pypi.simple.v1+json", Manner::Fair);
    completes(&server, 0);
}

#[test]
fn a_page_without_hashes_is_searched_by_file_name() {
    let server = serve(html(None), "text/html", Manner::Fair);
    completes(&server, 0);
}

#[test]
fn the_same_name_with_another_hash_is_not_taken() {
    let server = serve(html(Some("ff")), "text/html", Manner::Fair);
    let (outcome, _) = fetched(&server, 0);
    let Outcome::Nothing(reason) = outcome else { panic!("{outcome:?}") };
    assert!(reason.ends_with("lists 2 files, and not some_project-1.whl"), "{reason}");
    assert!(ranges(&server).is_empty());
}

#[test]
fn a_refused_file_leaves_the_way_to_pip_open() {
    let server = serve(html(Some(wheel().sha256)), "text/html", Manner::Forbids);
    let (outcome, _) = fetched(&server, 0);
    let Outcome::Nothing(reason) = outcome else { panic!("{outcome:?}") };
    assert_eq!(reason, "403 Forbidden");
}

#[test]
fn the_index_is_the_one_pip_is_configured_for() {
    let server = serve(html(Some(wheel().sha256)), "text/html", Manner::Fair);
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("fetch.py");
    fs::write(&script, SCRIPT).unwrap();
    let (wheel, part) = (wheel(), folder.path().join("part"));
    let mut command = process::command("python3");
    command.env("PIP_INDEX_URL", &server.index).arg(script).args(["--project", wheel.project]);
    command.args(["--file", wheel.file, "--sha256", wheel.sha256, "--size", "300000", "--part"]);
    let said = process::output(command.arg(&part)).unwrap();
    assert!(said.starts_with(&format!("index {}/some-project/\nfrom 0\n", server.index)), "{said}");
    assert_eq!(fs::read(&part).unwrap(), content());
}

#[test]
fn the_size_of_the_part_file_decides_how_to_begin() {
    assert_eq!(decide(None, 10), Begin::Anew);
    assert_eq!(decide(Some(0), 10), Begin::Anew);
    assert_eq!(decide(Some(4), 10), Begin::GoOn { at: 4 });
    assert_eq!(decide(Some(10), 10), Begin::CheckOnly);
    assert_eq!(decide(Some(11), 10), Begin::Discard);
}

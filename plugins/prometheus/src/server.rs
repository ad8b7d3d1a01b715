//! Serves a page on its own threads, on the loopback interface: every client has a deadline, and none delays the end of the run.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

/// How long one client may take, from its connection to the last byte of its answer.
const DEADLINE: Duration = Duration::from_secs(5);

/// How long clients that are being answered may take at the end.
const GRACE: Duration = Duration::from_millis(500);

/// The maximum length of a request.
const MOST_BYTES: usize = 8192;

/// Maximum number of simultaneous clients; a further one replaces the oldest.
const MOST_CLIENTS: usize = 32;

/// A page that is served until this is dropped.
pub struct Server {
    address: SocketAddr,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

/// What the threads share.
struct Shared {
    page: Mutex<String>,
    // By the order in which they came.
    clients: Mutex<BTreeMap<u64, TcpStream>>,
    over: AtomicBool,
    deadline: Duration,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Server {
    /// Serves an empty page on a port of the loopback interface; 0 chooses a free one.
    ///
    /// # Errors
    /// The port is taken, or no thread could be started.
    pub fn start(port: u16) -> io::Result<Self> {
        Self::with_deadline(port, DEADLINE)
    }

    fn with_deadline(port: u16, deadline: Duration) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
        let address = listener.local_addr()?;
        let (page, clients, over) = (Mutex::default(), Mutex::default(), AtomicBool::new(false));
        let shared = Arc::new(Shared { page, clients, over, deadline });
        let serve = {
            let shared = Arc::clone(&shared);
            move || serve(&listener, &shared)
        };
        let thread = Builder::new().name("prometheus".into()).spawn(serve)?;
        Ok(Self { address, shared, thread: Some(thread) })
    }

    /// Where it is served.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Replaces the page.
    pub fn publish(&self, page: String) {
        *lock(&self.shared.page) = page;
    }
}

impl Drop for Server {
    /// Waits at most half a second for clients that do not read their response.
    fn drop(&mut self) {
        self.shared.over.store(true, Ordering::Release);
        // Wakes the thread, which waits for a client. If it cannot be woken, it ends with the process.
        let is_awake = TcpStream::connect_timeout(&self.address, GRACE).is_ok();
        if let Some(thread) = self.thread.take().filter(|_| is_awake) {
            let _ = thread.join();
        }
    }
}

fn serve(listener: &TcpListener, shared: &Arc<Shared>) {
    let mut threads: Vec<JoinHandle<()>> = Vec::new();
    for (number, client) in (0..).zip(listener.incoming()) {
        if shared.over.load(Ordering::Acquire) {
            break;
        }
        threads.retain(|thread| !thread.is_finished());
        // A client that disconnects is ignored. If the system is out of handles, retry later.
        match client.and_then(|client| admit(number, client, shared)) {
            Ok(thread) => threads.push(thread),
            Err(_) => std::thread::sleep(Duration::from_millis(10)),
        }
    }
    let until = Instant::now() + GRACE;
    while Instant::now() < until && threads.iter().any(|thread| !thread.is_finished()) {
        std::thread::sleep(Duration::from_millis(1));
    }
    lock(&shared.clients).values().for_each(cut_off);
    for thread in threads {
        let _ = thread.join();
    }
}

/// Ends whatever its thread waits for.
fn cut_off(client: &TcpStream) {
    let _ = client.shutdown(Shutdown::Both);
}

/// Answers a client on its own thread.
fn admit(number: u64, client: TcpStream, shared: &Arc<Shared>) -> io::Result<JoinHandle<()>> {
    let mut clients = lock(&shared.clients);
    if clients.len() >= MOST_CLIENTS {
        clients.pop_first().iter().for_each(|(_, oldest)| cut_off(oldest));
    }
    clients.insert(number, client.try_clone()?);
    drop(clients);
    let work = {
        let shared = Arc::clone(shared);
        move || {
            let until = Instant::now() + shared.deadline;
            // A client that is too slow is dropped.
            let _ = answer(Timed { stream: &client, until }, &shared.page);
            lock(&shared.clients).remove(&number);
        }
    };
    Builder::new().name("prometheus-client".into()).spawn(work).inspect_err(|_| {
        lock(&shared.clients).remove(&number);
    })
}

/// A connection whose calls share one deadline.
struct Timed<'a> {
    stream: &'a TcpStream,
    until: Instant,
}

impl Timed<'_> {
    fn left(&self) -> io::Result<Option<Duration>> {
        match self.until.saturating_duration_since(Instant::now()) {
            Duration::ZERO => Err(io::ErrorKind::TimedOut.into()),
            left => Ok(Some(left)),
        }
    }
}

impl Read for Timed<'_> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        self.stream.set_read_timeout(self.left()?)?;
        self.stream.read(bytes)
    }
}

impl Write for Timed<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stream.set_write_timeout(self.left()?)?;
        self.stream.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn answer(mut client: Timed<'_>, page: &Mutex<String>) -> io::Result<()> {
    let request = head(&mut client)?;
    let (status, body) = match target(&request) {
        Some("/metrics") => ("200 OK", lock(page).clone()),
        Some(_) => ("404 Not Found", "the page is /metrics\n".to_owned()),
        None => ("405 Method Not Allowed", "only GET is supported\n".to_owned()),
    };
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n\
         Content-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    client.write_all((head + &body).as_bytes())
}

/// A client's request, up to the empty line.
fn head(client: &mut impl Read) -> io::Result<String> {
    let (mut bytes, mut chunk) = (Vec::new(), [0; 1024]);
    while !bytes.windows(4).any(|end| end == b"\r\n\r\n") {
        let read = client.read(&mut chunk)?;
        if read == 0 || bytes.len() + read > MOST_BYTES {
            return Err(io::ErrorKind::InvalidData.into());
        }
        bytes.extend_from_slice(&chunk[..read]);
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The path of a GET, without what follows a question mark.
fn target(request: &str) -> Option<&str> {
    let mut words = request.lines().next()?.split(' ');
    if words.next()? != "GET" {
        return None;
    }
    words.next()?.split('?').next()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(server: &Server, request: &str) -> String {
        let mut client = TcpStream::connect(server.address()).unwrap();
        client.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        client.read_to_string(&mut answer).unwrap();
        answer
    }

    #[test]
    fn the_page_is_served_on_loopback_until_the_end() {
        let server = Server::start(0).unwrap();
        assert!(server.address().ip().is_loopback());
        server.publish("loss 1\n".into());
        let answer = ask(&server, "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
        assert!(answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.ends_with("\r\n\r\nloss 1\n"));
        assert!(answer.contains("Content-Length: 7\r\n"), "{answer}");
        assert!(ask(&server, "GET / HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 404"));
        assert!(ask(&server, "POST /metrics HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 405"));
        let address = server.address();
        assert!(Server::start(address.port()).is_err(), "two servers on one port");
        drop(server);
        assert!(TcpStream::connect(address).is_err());
    }

    #[test]
    fn a_client_that_says_nothing_does_not_stop_the_next_one() {
        let server = Server::start(0).unwrap();
        server.publish("ok\n".into());
        let mut endless = TcpStream::connect(server.address()).unwrap();
        let _ = endless.write_all(&vec![b'x'; MOST_BYTES * 2]);
        drop(TcpStream::connect(server.address()).unwrap());
        assert!(ask(&server, "GET /metrics?x=1 HTTP/1.0\r\n\r\n").ends_with("ok\n"));
    }

    /// Sends a byte of a request now and then, until the server gives up, or for this many bytes.
    fn dribble(address: SocketAddr, bytes: usize) -> JoinHandle<bool> {
        let mut client = TcpStream::connect(address).unwrap();
        std::thread::spawn(move || {
            (0..bytes).any(|_| {
                std::thread::sleep(Duration::from_millis(20));
                client.write_all(b"G").is_err()
            })
        })
    }

    #[test]
    fn a_slow_client_is_cut_off_at_its_deadline_and_blocks_no_other() {
        let server = Server::with_deadline(0, Duration::from_millis(200)).unwrap();
        server.publish("ok\n".into());
        let slow = dribble(server.address(), 1000);
        assert!(ask(&server, "GET /metrics HTTP/1.1\r\n\r\n").ends_with("ok\n"));
        assert!(slow.join().unwrap(), "a thousand bytes were taken, one after the other");
    }

    #[test]
    fn the_end_waits_for_no_client() {
        // None of them comes to its deadline.
        let server = Server::with_deadline(0, Duration::from_hours(1)).unwrap();
        server.publish("x".repeat(64 << 20));
        let address = server.address();
        let _silent = TcpStream::connect(address).unwrap();
        let mut never_reads = TcpStream::connect(address).unwrap();
        never_reads.write_all(b"GET /metrics HTTP/1.1\r\n\r\n").unwrap();
        let slow = dribble(address, 100_000);
        let (send, ended) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            drop(server);
            send.send(()).unwrap();
        });
        ended.recv_timeout(Duration::from_mins(1)).expect("a client holds the server");
        assert!(slow.join().unwrap());
    }

    #[test]
    fn more_clients_than_there_are_places_do_not_keep_a_new_one_out() {
        let server = Server::with_deadline(0, Duration::from_hours(1)).unwrap();
        server.publish("ok\n".into());
        let _silent: Vec<_> =
            (0..MOST_CLIENTS * 3).map(|_| TcpStream::connect(server.address()).unwrap()).collect();
        for _ in 0..MOST_CLIENTS {
            assert!(ask(&server, "GET /metrics HTTP/1.1\r\n\r\n").ends_with("ok\n"));
        }
        assert!(lock(&server.shared.clients).len() <= MOST_CLIENTS);
    }
}

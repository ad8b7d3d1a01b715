//! A page on a thread of its own: one request at a time, on the loopback interface, each with a time limit.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// How long one client may take to ask, and to take the answer.
const PATIENCE: Duration = Duration::from_secs(2);

/// No request is longer.
const MOST_BYTES: usize = 8192;

/// A page that is served until this is dropped.
pub struct Server {
    address: SocketAddr,
    page: Arc<Mutex<String>>,
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// Serves an empty page on a port of the loopback interface; 0 takes any free one.
    ///
    /// # Errors
    /// The port is taken, or no thread could be made.
    pub fn start(port: u16) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
        let address = listener.local_addr()?;
        let (page, over) = (Arc::new(Mutex::default()), Arc::new(AtomicBool::new(false)));
        let serve = {
            let (page, over) = (Arc::clone(&page), Arc::clone(&over));
            move || serve(&listener, &page, &over)
        };
        let thread = std::thread::Builder::new().name("prometheus".into()).spawn(serve)?;
        Ok(Self { address, page, over, thread: Some(thread) })
    }

    /// Where it is served.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Replaces the page.
    pub fn publish(&self, page: String) {
        *self.page.lock().unwrap_or_else(PoisonError::into_inner) = page;
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Release);
        // Wakes the thread, which waits for a client.
        let _ = TcpStream::connect_timeout(&self.address, PATIENCE);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn serve(listener: &TcpListener, page: &Mutex<String>, over: &AtomicBool) {
    for client in listener.incoming() {
        if over.load(Ordering::Acquire) {
            return;
        }
        // A client that goes away or is too slow is its own loss.
        let _ = client.and_then(|client| answer(client, page));
    }
}

fn answer(mut client: TcpStream, page: &Mutex<String>) -> io::Result<()> {
    client.set_read_timeout(Some(PATIENCE))?;
    client.set_write_timeout(Some(PATIENCE))?;
    let request = head(&mut client)?;
    let (status, body) = match target(&request) {
        Some("/metrics") => ("200 OK", page.lock().unwrap_or_else(PoisonError::into_inner).clone()),
        Some(_) => ("404 Not Found", "the page is /metrics\n".to_owned()),
        None => ("405 Method Not Allowed", "only GET is answered\n".to_owned()),
    };
    write!(
        client,
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n\
         Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    )
}

/// What a client asks, up to the empty line.
fn head(client: &mut TcpStream) -> io::Result<String> {
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
}

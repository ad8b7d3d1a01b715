//! One POST over a plain TCP stream, with a time limit.

use crate::url::Url;
use std::io::{self, Read as _, Write as _};
use std::net::{TcpStream, ToSocketAddrs as _};
use std::time::Duration;

/// How a post ended.
#[derive(Debug, PartialEq, Eq)]
pub enum Answer {
    /// It was accepted.
    Taken,
    /// It was rejected permanently: a retry would not help.
    Refused(u16),
    /// It may work later.
    Busy(u16),
}

/// Posts a JSON text.
///
/// # Errors
/// There was no response in time, or none in HTTP.
pub fn post(url: &Url, body: &str, timeout: Duration) -> io::Result<Answer> {
    let mut stream = connect(url, timeout)?;
    stream.set_read_timeout(Some(timeout))?;
    stream.set_write_timeout(Some(timeout))?;
    write!(
        stream,
        "POST {} HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\
         Connection: close\r\n\r\n{body}",
        url.path,
        url.authority(),
        body.len()
    )?;
    // Only the status line matters.
    let mut head = [0; 64];
    let mut filled = 0;
    while filled < 12 {
        let read = stream.read(&mut head[filled..])?;
        if read == 0 {
            break;
        }
        filled += read;
    }
    match status(&String::from_utf8_lossy(&head[..filled])) {
        Some(200..=299) => Ok(Answer::Taken),
        Some(code @ (408 | 429 | 500..=599)) => Ok(Answer::Busy(code)),
        Some(code) => Ok(Answer::Refused(code)),
        None => Err(io::ErrorKind::InvalidData.into()),
    }
}

fn connect(url: &Url, timeout: Duration) -> io::Result<TcpStream> {
    let mut last = io::ErrorKind::NotFound.into();
    for address in (url.host.as_str(), url.port).to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, timeout) {
            Ok(stream) => return Ok(stream),
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// The number of a status line.
fn status(line: &str) -> Option<u16> {
    let mut words = line.split(' ');
    words.next()?.strip_prefix("HTTP/1.")?;
    words.next()?.get(..3)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::status;

    #[test]
    fn the_status_is_the_second_word() {
        assert_eq!(status("HTTP/1.1 204 No Content\r\n"), Some(204));
        assert_eq!(status("HTTP/1.0 503"), Some(503));
        assert_eq!(status("SSH-2.0"), None);
        assert_eq!(status("HTTP/1.1"), None);
    }
}

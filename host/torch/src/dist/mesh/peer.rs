//! The connection to one other rank: messages of a few numbers, each with the number of its exchange.

use std::collections::VecDeque;
use std::io::{ErrorKind, Read as _, Write as _};
use std::net::TcpStream;
use std::os::fd::{AsFd as _, AsRawFd as _, BorrowedFd};
use std::time::{Duration, Instant};

use crate::{Result, TorchError};

/// The number of the exchange and the number of bytes that follow, four bytes each.
const HEAD: usize = 8;
/// The longest message: no exchange has as many numbers.
const LONGEST: usize = 4096;
/// Received messages that wait for their exchange to be finished. The oldest ones belong to exchanges that nobody finished.
const KEPT: usize = 64;

/// The connection to another rank.
#[derive(Debug)]
pub(super) struct Peer {
    rank: usize,
    // It does not block: `wait_for` does.
    stream: TcpStream,
    // What was read of the next message.
    part: Vec<u8>,
    received: VecDeque<Message>,
}

#[derive(Debug)]
struct Message {
    exchange: u32,
    bytes: Vec<u8>,
}

/// The bytes of a message.
pub(super) fn message(exchange: u32, numbers: impl Iterator<Item = [u8; 8]>) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(64);
    bytes.extend(exchange.to_le_bytes());
    bytes.extend([0; 4]);
    numbers.for_each(|number| bytes.extend(number));
    let length = u32::try_from(bytes.len() - HEAD).unwrap_or(u32::MAX);
    bytes[4..HEAD].copy_from_slice(&length.to_le_bytes());
    bytes
}

impl Peer {
    /// Takes over a connection to a rank.
    pub(super) fn new(rank: usize, stream: TcpStream) -> std::io::Result<Self> {
        stream.set_nodelay(true)?;
        stream.set_nonblocking(true)?;
        Ok(Self { rank, stream, part: Vec::new(), received: VecDeque::new() })
    }

    /// The rank at the other end.
    pub(super) fn rank(&self) -> usize {
        self.rank
    }

    /// Sends a message. The system takes it at once, unless the other rank has not read for long.
    pub(super) fn send(&mut self, mut message: &[u8], deadline: Instant) -> Result<()> {
        while !message.is_empty() {
            match self.stream.write(message) {
                Ok(0) => return Err(self.closed()),
                Ok(sent) => message = &message[sent..],
                Err(error) => self.wait_after(&error, libc::POLLOUT, deadline)?,
            }
        }
        Ok(())
    }

    /// Waits for the message of an exchange, and returns its numbers.
    pub(super) fn receive(&mut self, exchange: u32, deadline: Instant) -> Result<Vec<u8>> {
        loop {
            let found = self.received.iter().position(|message| message.exchange == exchange);
            if let Some(message) = found.and_then(|index| self.received.remove(index)) {
                return Ok(message.bytes);
            }
            self.read(deadline)?;
        }
    }

    /// Reads what has arrived; waits if that is nothing.
    fn read(&mut self, deadline: Instant) -> Result<()> {
        let mut bytes = [0; 1024];
        match self.stream.read(&mut bytes) {
            Ok(0) => Err(self.closed()),
            Ok(count) => {
                self.part.extend_from_slice(&bytes[..count]);
                self.split()
            }
            Err(error) => self.wait_after(&error, libc::POLLIN, deadline),
        }
    }

    /// Moves complete messages out of what was read.
    fn split(&mut self) -> Result<()> {
        while let Some((head, rest)) = self.part.split_first_chunk::<HEAD>() {
            let [e0, e1, e2, e3, l0, l1, l2, l3] = *head;
            let length = u32::from_le_bytes([l0, l1, l2, l3]) as usize;
            if length > LONGEST {
                return Err(self.error(format!("it sent {length} bytes, which is not a message")));
            }
            let Some(bytes) = rest.get(..length).map(<[u8]>::to_vec) else { break };
            let exchange = u32::from_le_bytes([e0, e1, e2, e3]);
            self.part.drain(..HEAD + length);
            if self.received.len() == KEPT {
                self.received.pop_front();
            }
            self.received.push_back(Message { exchange, bytes });
        }
        Ok(())
    }

    /// Waits until the socket is ready if the error says that it is not; otherwise returns the error.
    fn wait_after(&self, error: &std::io::Error, event: i16, deadline: Instant) -> Result<()> {
        let ready = match error.kind() {
            ErrorKind::Interrupted => Ok(true),
            ErrorKind::WouldBlock => wait_for(self.stream.as_fd(), event, deadline),
            _ => return Err(self.error(error.to_string())),
        };
        match ready {
            Ok(true) => Ok(()),
            Ok(false) => Err(self.error("it did not answer within the timeout".to_owned())),
            Err(error) => Err(self.error(error.to_string())),
        }
    }

    fn closed(&self) -> TorchError {
        self.error("it was closed by that rank".to_owned())
    }

    fn error(&self, why: String) -> TorchError {
        TorchError::of_peer(self.rank, why)
    }
}

/// Waits until a socket is ready for an event; returns whether it is before the deadline.
pub(super) fn wait_for(
    socket: BorrowedFd<'_>,
    event: i16,
    deadline: Instant,
) -> std::io::Result<bool> {
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        // Rounded up: a wait must not end before the deadline.
        let millis = (left + Duration::from_micros(999)).as_millis();
        let mut poll = libc::pollfd { fd: socket.as_raw_fd(), events: event, revents: 0 };
        // SAFETY: one entry, which lives through the call.
        let ready =
            unsafe { libc::poll(&raw mut poll, 1, i32::try_from(millis).unwrap_or(i32::MAX)) };
        match ready {
            1.. => return Ok(true),
            0 if left.is_zero() => return Ok(false),
            0 => {}
            _ => {
                let error = std::io::Error::last_os_error();
                if error.kind() != ErrorKind::Interrupted {
                    return Err(error);
                }
            }
        }
    }
}

//! The connection to one other rank: messages of a few numbers, each with the number of its exchange.

use std::collections::VecDeque;
use std::io::{ErrorKind, Read as _, Write as _};
use std::net::TcpStream;
use std::os::fd::{AsFd as _, AsRawFd as _, BorrowedFd};
use std::time::{Duration, Instant};

use crate::{Result, TorchError};

/// The number of the exchange and the number of bytes that follow, four bytes each.
const HEAD: usize = 8;
/// The bytes of the longest message without its head: no exchange has more numbers.
const LONGEST: usize = 128;
/// Received messages that wait for their exchange to be finished. The oldest ones belong to exchanges that nobody finished.
const KEPT: usize = 64;

/// The connection to another rank. Messages are sent and received without allocating memory.
#[derive(Debug)]
pub(super) struct Peer {
    rank: usize,
    // It does not block: `wait_for` does.
    stream: TcpStream,
    // What was read of the next message.
    part: Vec<u8>,
    received: VecDeque<Message>,
}

/// A few numbers of an exchange, with a head.
#[derive(Debug, Clone, Copy)]
pub(super) struct Message([u8; HEAD + LONGEST]);

impl Message {
    pub(super) fn new<const N: usize>(exchange: u32, numbers: [[u8; 8]; N]) -> Self {
        const { assert!(N * 8 <= LONGEST) };
        let mut bytes = [0; HEAD + LONGEST];
        let (of_exchange, rest) = bytes.split_at_mut(4);
        of_exchange.copy_from_slice(&exchange.to_le_bytes());
        let (of_length, rest) = rest.split_at_mut(4);
        of_length.copy_from_slice(&u32::try_from(N * 8).unwrap_or(0).to_le_bytes());
        for (place, number) in rest.chunks_exact_mut(8).zip(numbers) {
            place.copy_from_slice(&number);
        }
        Self(bytes)
    }

    /// The message that these bytes begin with, `None` if it is incomplete. The error is a length that no message has.
    fn split(bytes: &[u8]) -> std::result::Result<Option<Self>, usize> {
        let mut message = Self([0; HEAD + LONGEST]);
        let Some(head) = bytes.get(..HEAD) else { return Ok(None) };
        message.0[..HEAD].copy_from_slice(head);
        let length = message.length();
        if length > LONGEST {
            return Err(length);
        }
        let Some(bytes) = bytes.get(..HEAD + length) else { return Ok(None) };
        message.0[..bytes.len()].copy_from_slice(bytes);
        Ok(Some(message))
    }

    fn word(&self, index: usize) -> u32 {
        let mut word = [0; 4];
        word.copy_from_slice(&self.0[index * 4..][..4]);
        u32::from_le_bytes(word)
    }

    fn exchange(&self) -> u32 {
        self.word(0)
    }

    fn length(&self) -> usize {
        self.word(1) as usize
    }

    fn bytes(&self) -> &[u8] {
        &self.0[..HEAD + self.length()]
    }

    /// Its numbers, if it has so many.
    fn numbers<const N: usize>(&self) -> Option<[[u8; 8]; N]> {
        let (numbers, _) = self.bytes()[HEAD..].as_chunks::<8>();
        numbers.try_into().ok()
    }
}

impl Peer {
    /// Takes over a connection to a rank.
    pub(super) fn new(rank: usize, stream: TcpStream) -> std::io::Result<Self> {
        stream.set_nodelay(true)?;
        stream.set_nonblocking(true)?;
        Ok(Self { rank, stream, part: Vec::new(), received: VecDeque::with_capacity(KEPT) })
    }

    /// Sends a message. The system takes it at once, unless the other rank has not read for long.
    pub(super) fn send(&mut self, message: &Message, deadline: Instant) -> Result<()> {
        let mut left = message.bytes();
        while !left.is_empty() {
            match self.stream.write(left) {
                Ok(0) => return Err(self.closed()),
                Ok(sent) => left = &left[sent..],
                Err(error) => self.wait_after(&error, libc::POLLOUT, deadline)?,
            }
        }
        Ok(())
    }

    /// Waits for the message of an exchange, and returns its numbers.
    pub(super) fn receive<const N: usize>(
        &mut self,
        exchange: u32,
        deadline: Instant,
    ) -> Result<[[u8; 8]; N]> {
        loop {
            let found = self.received.iter().position(|message| message.exchange() == exchange);
            if let Some(message) = found.and_then(|index| self.received.remove(index)) {
                let got = message.length() / 8;
                return message.numbers().ok_or_else(|| {
                    let why = "the ranks are out of sync";
                    self.error(format!("it sent {got} numbers instead of {N}: {why}"))
                });
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
        let invalid = |length| format!("it sent {length} bytes, which is not a message");
        while let Some(message) =
            Message::split(&self.part).map_err(|length| self.error(invalid(length)))?
        {
            self.part.drain(..message.bytes().len());
            if self.received.len() == KEPT {
                self.received.pop_front();
            }
            self.received.push_back(message);
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

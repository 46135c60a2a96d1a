//! A load generator: keep-alive connections served by one thread, with as little work a request as can be.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use anyhow::Context as _;
use rustix::event::epoll;
use rustix::fd::OwnedFd;

use crate::clock::Moment;

/// What one run showed.
pub(super) struct Run {
    /// Requests a second.
    pub(super) rate: f64,
    pub(super) times: Vec<Duration>,
}

/// Connections that each have one request open.
pub(super) struct Client {
    epoll: OwnedFd,
    connections: Vec<Connection>,
    request: Vec<u8>,
}

struct Connection {
    stream: TcpStream,
    received: Vec<u8>,
    sent: Moment,
}

impl Client {
    pub(super) fn connect(
        address: SocketAddr,
        count: usize,
        request: &[u8],
    ) -> anyhow::Result<Self> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let mut connections = Vec::with_capacity(count);
        for index in 0..count {
            let stream = TcpStream::connect(address)?;
            stream.set_nodelay(true)?;
            stream.set_nonblocking(true)?;
            epoll::add(
                &epoll,
                &stream,
                epoll::EventData::new_u64(index as u64),
                epoll::EventFlags::IN,
            )?;
            connections.push(Connection {
                stream,
                received: Vec::new(),
                sent: Moment::now(),
            });
        }
        Ok(Self {
            epoll,
            connections,
            request: request.to_owned(),
        })
    }

    /// Makes `count` requests, one after another on each connection, and waits for every answer.
    pub(super) fn run(&mut self, count: usize) -> anyhow::Result<Run> {
        let mut times = Vec::with_capacity(count);
        let mut to_send = count;
        let begun = Moment::now();
        for connection in self.connections.iter_mut().take(count) {
            connection.send(&self.request)?;
            to_send -= 1;
        }
        let mut events = Vec::with_capacity(self.connections.len());
        while times.len() < count {
            events.clear();
            epoll::wait(
                &self.epoll,
                rustix::buffer::spare_capacity(&mut events),
                None,
            )?;
            for event in &events {
                let index = usize::try_from(event.data.u64())?;
                let connection = self
                    .connections
                    .get_mut(index)
                    .context("an event of no connection")?;
                if !connection.receive()? {
                    continue;
                }
                times.push(connection.sent.elapsed());
                if to_send > 0 {
                    connection.send(&self.request)?;
                    to_send -= 1;
                }
            }
        }
        Ok(Run {
            rate: count as f64 / begun.elapsed().as_secs_f64(),
            times,
        })
    }
}

impl Connection {
    fn send(&mut self, request: &[u8]) -> anyhow::Result<()> {
        self.received.clear();
        self.sent = Moment::now();
        // A few hundred bytes into an empty buffer.
        Ok(self.stream.write_all(request)?)
    }

    /// Reads what is there; true when the answer is whole.
    fn receive(&mut self) -> anyhow::Result<bool> {
        let mut buffer = [0; 4096];
        match self.stream.read(&mut buffer) {
            Ok(0) => anyhow::bail!("the node closed a connection"),
            Ok(read) => self
                .received
                .extend_from_slice(buffer.get(..read).unwrap_or_default()),
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
            Err(error) => return Err(error.into()),
        }
        let Some(head_end) = find(&self.received, b"\r\n\r\n") else {
            return Ok(false);
        };
        let head = self.received.get(..head_end).unwrap_or_default();
        anyhow::ensure!(
            head.starts_with(b"HTTP/1.1 200"),
            "answered with {}",
            String::from_utf8_lossy(&self.received)
        );
        let length = content_length(head).context("an answer without content-length")?;
        Ok(self.received.len() >= head_end + 4 + length)
    }
}

fn content_length(head: &[u8]) -> Option<usize> {
    let name = b"content-length: ";
    let start = find(head, name)? + name.len();
    let digits = head
        .get(start..)?
        .iter()
        .take_while(|byte| byte.is_ascii_digit());
    Some(digits.fold(0, |length, digit| length * 10 + usize::from(digit - b'0')))
}

fn find(text: &[u8], sought: &[u8]) -> Option<usize> {
    text.windows(sought.len())
        .position(|window| window == sought)
}

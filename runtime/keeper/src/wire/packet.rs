//! One packet with its descriptors, sent or received whole or not at all; never blocking.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};

/// Room for more descriptors than any packet may carry, so that a wrong number is counted rather than cut off.
const DESCRIPTOR_ROOM: usize = 16;

/// A received packet.
pub(crate) enum Received {
    /// One packet.
    Packet {
        /// How many bytes of the buffer it fills.
        length: usize,
        /// The descriptors that came along, close-on-exec.
        descriptors: Vec<OwnedFd>,
        /// Whether bytes or descriptors were cut off.
        truncated: bool,
    },
    /// The other end is closed and nothing is left to read.
    End,
}

/// Sends one packet. `WouldBlock` when the socket's buffer is full; the packet was then not sent at all.
pub(crate) fn send(
    socket: BorrowedFd<'_>,
    bytes: &[u8],
    descriptors: &[BorrowedFd<'_>],
) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTOR_ROOM))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !descriptors.is_empty() && !control.push(SendAncillaryMessage::ScmRights(descriptors)) {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "too many descriptors for one packet",
        ));
    }
    let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
    let sent =
        rustix::io::retry_on_intr(|| sendmsg(socket, &[IoSlice::new(bytes)], &mut control, flags))?;
    if sent == bytes.len() {
        Ok(())
    } else {
        Err(io::Error::new(
            io::ErrorKind::WriteZero,
            "a packet was cut short",
        ))
    }
}

/// Receives one packet into `buffer`. `WouldBlock` when none waits.
pub(crate) fn receive(socket: BorrowedFd<'_>, buffer: &mut [u8]) -> io::Result<Received> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTOR_ROOM))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let flags = RecvFlags::DONTWAIT | RecvFlags::CMSG_CLOEXEC;
    let message = rustix::io::retry_on_intr(|| {
        recvmsg(socket, &mut [IoSliceMut::new(buffer)], &mut control, flags)
    });
    let message = match message {
        Ok(message) => message,
        // The other end closed with packets of ours unread.
        Err(rustix::io::Errno::CONNRESET) => return Ok(Received::End),
        Err(error) => return Err(error.into()),
    };
    let mut descriptors = Vec::new();
    for part in control.drain() {
        if let RecvAncillaryMessage::ScmRights(rights) = part {
            descriptors.extend(rights);
        }
    }
    // Zero bytes are an empty packet or the end; only a hang-up tells.
    if message.bytes == 0 && descriptors.is_empty() && hung_up(socket)? {
        return Ok(Received::End);
    }
    let truncated = message
        .flags
        .intersects(ReturnFlags::TRUNC | ReturnFlags::CTRUNC);
    Ok(Received::Packet {
        length: message.bytes,
        descriptors,
        truncated,
    })
}

fn hung_up(socket: BorrowedFd<'_>) -> io::Result<bool> {
    let socket = socket.as_fd();
    let mut entries = [PollFd::new(&socket, PollFlags::empty())];
    poll(
        &mut entries,
        Some(&Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        }),
    )?;
    Ok(entries
        .iter()
        .any(|entry| entry.revents().contains(PollFlags::HUP)))
}

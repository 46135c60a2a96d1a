//! The real stdin and stdout, and what stands in their place.

use std::io;

#[cfg(unix)]
pub(crate) use unix::{stop_writing_to_nobody, take};

/// The host's end of the two pipes.
pub(crate) struct Streams {
    pub(crate) input: Box<dyn io::Read + Send>,
    pub(crate) output: Box<dyn io::Write + Send>,
}

#[cfg(unix)]
mod unix {
    use std::fs::{File, OpenOptions};
    use std::io;
    use std::os::fd::OwnedFd;

    use rustix::event::{PollFd, PollFlags, poll};
    use rustix::io::fcntl_dupfd_cloexec;
    use rustix::stdio::{dup2_stderr, dup2_stdin, dup2_stdout, stderr, stdin, stdout};

    use super::Streams;

    /// Moves the real stdin and stdout to descriptors of their own, closed on exec, and puts the null device and stderr in
    /// their place: what is printed by accident lands in the log, and no child process reads or writes the host's lines.
    pub(crate) fn take() -> io::Result<Streams> {
        const ABOVE_STANDARD_STREAMS: i32 = 3;
        let input: OwnedFd = fcntl_dupfd_cloexec(stdin(), ABOVE_STANDARD_STREAMS)?;
        let output: OwnedFd = fcntl_dupfd_cloexec(stdout(), ABOVE_STANDARD_STREAMS)?;
        let null = null_device()?;
        dup2_stdin(&null)?;
        if dup2_stdout(stderr()).is_err() {
            dup2_stdout(&null)?;
        }
        Ok(Streams {
            input: Box::new(File::from(input)),
            output: Box::new(File::from(output)),
        })
    }

    /// When the host died, whoever read stderr may have died with it. `println!` panics on a broken pipe, which would cut
    /// finalizers short (SUP-22): from here on it writes to the null device.
    pub(crate) fn stop_writing_to_nobody() {
        let mut streams = [PollFd::from_borrowed_fd(stderr(), PollFlags::empty())];
        let now = rustix::event::Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        let polled = poll(&mut streams, Some(&now)).is_ok();
        let broken = streams.iter().any(|stream| {
            stream
                .revents()
                .intersects(PollFlags::ERR | PollFlags::NVAL)
        });
        if polled
            && broken
            && let Ok(null) = null_device()
        {
            _ = dup2_stdout(&null);
            _ = dup2_stderr(&null);
        }
    }

    fn null_device() -> io::Result<File> {
        OpenOptions::new().read(true).write(true).open("/dev/null")
    }
}

/// A guest has no descriptors to move.
#[cfg(not(unix))]
pub(crate) fn take() -> io::Result<Streams> {
    Ok(Streams {
        input: Box::new(io::stdin()),
        output: Box::new(io::stdout()),
    })
}

#[cfg(not(unix))]
pub(crate) fn stop_writing_to_nobody() {}

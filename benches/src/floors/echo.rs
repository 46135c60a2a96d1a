//! Floor: a line to another process and back, over two raw pipes.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::process::{Child, ExitCode, Stdio};
use std::time::Duration;

use anyhow::Context as _;

use crate::clock::Moment;

/// Role of the process that answers.
pub(crate) const ROLE: &str = "--as-echo";

/// About the size of a call of `ping`.
const LINE: usize = 120;

/// The answering process: reads and writes back, until its stdin ends.
pub(crate) fn answer() -> ExitCode {
    let mut buffer = [0; 4096];
    let (stdin, stdout) = (rustix::stdio::stdin(), rustix::stdio::stdout());
    while let Ok(read @ 1..) = rustix::io::read(stdin, &mut buffer) {
        if rustix::io::write(stdout, buffer.get(..read).unwrap_or_default()).is_err() {
            break;
        }
    }
    ExitCode::SUCCESS
}

/// The asking side.
pub(crate) struct Echo {
    child: Child,
    to_child: File,
    from_child: File,
}

impl Echo {
    /// Its process runs on the cores of the caller.
    pub(crate) fn start() -> anyhow::Result<Self> {
        #[expect(clippy::disallowed_methods, reason = "the floor runs without the node")]
        let mut command = std::process::Command::new(std::env::current_exe()?);
        let mut child = command
            .arg(ROLE)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let to_child = child.stdin.take().context("the echo has no stdin")?;
        let from_child = child.stdout.take().context("the echo has no stdout")?;
        Ok(Self {
            child,
            to_child: File::from(OwnedFd::from(to_child)),
            from_child: File::from(OwnedFd::from(from_child)),
        })
    }

    pub(crate) fn once(&mut self) -> anyhow::Result<Duration> {
        let mut buffer = [b'x'; LINE];
        let begun = Moment::now();
        self.to_child.write_all(&buffer)?;
        self.from_child.read_exact(&mut buffer)?;
        Ok(begun.elapsed())
    }
}

impl Drop for Echo {
    fn drop(&mut self) {
        // It holds nothing; a failure would leave a process that ends with its stdin.
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

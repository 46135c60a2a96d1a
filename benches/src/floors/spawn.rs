//! Floor: a bare spawn of the plugin, to its first byte.

use std::fs;
use std::io::{Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use rustix::pipe::{PipeFlags, pipe_with};
use treewarden_runtime::protocol::{
    Identity, InitializeParams, LaunchNumber, RequestId, encode_request, method,
};

use crate::clock::Moment;

/// What is spawned, and where.
pub(crate) struct BareSpawn {
    program: PathBuf,
    folder: PathBuf,
    initialize: Vec<u8>,
}

/// How long the two ends of a bare process's life took.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Life {
    /// From the spawn to its first byte.
    pub(crate) first_byte: Duration,
    /// From SIGKILL until it was reaped.
    pub(crate) end: Duration,
}

impl BareSpawn {
    /// The plugin starts in `folder`, as its entry's working directory would be.
    pub(crate) fn new(program: PathBuf, folder: PathBuf) -> anyhow::Result<Self> {
        fs::create_dir_all(&folder)?;
        let params = InitializeParams::new(Identity::outside_any_node(), LaunchNumber::new(1));
        let mut initialize = Vec::new();
        encode_request(
            &mut initialize,
            RequestId::new(1),
            method::INITIALIZE,
            &params,
        )?;
        Ok(Self {
            program,
            folder,
            initialize,
        })
    }

    /// `posix_spawn` with three pipes to the first byte it says, and from SIGKILL to its reaping; `initialize` lies in its stdin before it
    /// starts.
    pub(crate) fn once(&self) -> anyhow::Result<Life> {
        let ((stdin, mut to_plugin), (from_plugin, stdout), (_stderr, stderr)) =
            (pipe()?, pipe()?, pipe()?);
        to_plugin.write_all(&self.initialize)?;
        #[expect(
            clippy::disallowed_methods,
            reason = "the floor is a spawn without the node"
        )]
        let mut command = std::process::Command::new(&self.program);
        command
            .env_clear()
            .current_dir(&self.folder)
            .stdin(owned(stdin))
            .stdout(owned(stdout))
            .stderr(owned(stderr));
        let begun = Moment::now();
        let mut child = command.spawn()?;
        let mut from_plugin = from_plugin;
        let mut byte = [0; 1];
        let read = from_plugin.read(&mut byte)?;
        let first_byte = begun.elapsed();
        let begun = Moment::now();
        child.kill()?;
        // A node in this process reaps every child of it, and may have been quicker.
        child.wait().ok();
        let end = begun.elapsed();
        anyhow::ensure!(read == 1, "{} ended without a word", self.program.display());
        Ok(Life { first_byte, end })
    }
}

/// (read end, write end)
fn pipe() -> anyhow::Result<(fs::File, fs::File)> {
    let (read, write) = pipe_with(PipeFlags::CLOEXEC)?;
    Ok((fs::File::from(read), fs::File::from(write)))
}

fn owned(file: fs::File) -> Stdio {
    Stdio::from(OwnedFd::from(file))
}

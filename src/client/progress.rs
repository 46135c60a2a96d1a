//! Shows on a terminal that a command still waits.

use std::io::{self, IsTerminal as _, Write as _};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// Quick answers need no talk.
const STEP: Duration = Duration::from_secs(1);

/// A line on stderr with the seconds waited; it is cleared when this is dropped. Nothing at all when stderr is no terminal.
pub(super) struct Progress(Option<(Sender<()>, JoinHandle<()>)>);

impl Progress {
    /// Begins; `what` says what is waited for.
    pub(super) fn start(what: String) -> Self {
        if !io::stderr().is_terminal() {
            return Self(None);
        }
        let (end, ended) = channel::<()>();
        let thread = std::thread::spawn(move || {
            let mut seconds = 0_u64;
            while ended.recv_timeout(STEP) == Err(RecvTimeoutError::Timeout) {
                seconds = seconds.saturating_add(1);
                show(&format!("\r{what} … {seconds} s\u{1b}[K"));
            }
            if seconds > 0 {
                show("\r\u{1b}[K");
            }
        });
        Self(Some((end, thread)))
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some((end, thread)) = self.0.take() {
            drop(end);
            thread.join().ok();
        }
    }
}

/// A terminal that can't be written is no reason to fail.
fn show(text: &str) {
    let mut stderr = io::stderr();
    stderr
        .write_all(text.as_bytes())
        .and_then(|()| stderr.flush())
        .ok();
}

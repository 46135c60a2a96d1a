//! What a plugin writes to stderr, line by line (SUP-31).
//!
//! The pipe is always drained, so that a plugin never blocks on it (S42); what is kept is bounded in length and rate, and what is not
//! kept is counted.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::unix::pipe;
use tokio::sync::watch;
use treewarden_model::time::{Clock, Timestamp};

use crate::task;

/// Longest line kept whole; longer ones are split.
pub const LINE_MAX: usize = 4096;
/// Bytes a second kept of one plugin, on average.
pub const BYTES_PER_SECOND: u64 = 256 * 1024;
/// Bytes kept at once after a quiet time.
pub const BURST: u64 = 1024 * 1024;
/// What a line costs beside its bytes: empty lines make records too.
const LINE_COST: u64 = 100;
/// After the family is gone the pipe is read until it is this long silent (a stranger may hold it open, S3).
const IDLE_BOUND: Duration = Duration::from_millis(100);
/// And no longer than this in all.
const OVERALL_BOUND: Duration = Duration::from_secs(1);

/// Takes lines. Must be quick.
pub trait LineSink: Send + Sync + 'static {
    /// A line, without its newline; invalid UTF-8 replaced.
    fn line(&self, text: &str);
    /// Lines and bytes that were not kept since the last call.
    fn dropped(&self, lines: u64, bytes: u64);
}

/// Reads a plugin's stderr until it ends, or a moment after `finish` turns true.
///
/// # Errors
/// The descriptor is no pipe, or the runtime refuses it.
pub fn drain(
    fd: OwnedFd,
    sink: Arc<dyn LineSink>,
    clock: Arc<dyn Clock>,
    finish: watch::Receiver<bool>,
) -> std::io::Result<()> {
    let pipe = pipe::Receiver::from_owned_fd(fd)?;
    task::spawn("stderr", async move {
        let mut lines = Lines::new(sink, clock.now());
        read(&pipe, &mut lines, &*clock, finish).await;
        lines.end();
    });
    Ok(())
}

async fn read(
    pipe: &pipe::Receiver,
    lines: &mut Lines,
    clock: &dyn Clock,
    mut finish: watch::Receiver<bool>,
) {
    let mut finishing = *finish.borrow();
    let mut deadline = finishing.then(|| clock.now().plus(OVERALL_BOUND));
    loop {
        if !finishing {
            tokio::select! {
                ready = pipe.readable() => if ready.is_err() { return },
                changed = finish.changed() => {
                    finishing = changed.is_err() || *finish.borrow();
                    deadline = finishing.then(|| clock.now().plus(OVERALL_BOUND));
                }
            }
        } else {
            let over = deadline.is_some_and(|deadline| clock.now() >= deadline);
            // Boxed: an idle plugin's task must not hold a timer that only its end needs.
            let silence = Box::pin(tokio::time::timeout(IDLE_BOUND, pipe.readable()));
            if over || silence.await.is_err() {
                return;
            }
        }
        if take(pipe, lines, clock.now()) {
            return;
        }
        // A flood must not keep this thread from other plugins.
        tokio::task::yield_now().await;
    }
}

/// Reads what is there, at most a few buffers; true at the end of the stream. Outside async code, so that an idle reader holds no buffer.
fn take(pipe: &pipe::Receiver, lines: &mut Lines, now: Timestamp) -> bool {
    let mut buffer = [0; 16 * 1024];
    for _ in 0..4 {
        match pipe.try_read(&mut buffer) {
            Ok(0) => return true,
            Ok(read) => lines.take(buffer.get(..read).unwrap_or_default(), now),
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => return false,
            Err(_) => return true,
        }
    }
    false
}

/// How much of a plugin's log is kept: a bound on its rate.
#[derive(Debug)]
pub struct Budget {
    left: u64,
    refilled: Timestamp,
}

impl Budget {
    /// As after a quiet time.
    pub const fn full(now: Timestamp) -> Self {
        Self {
            left: BURST,
            refilled: now,
        }
    }

    /// Adds what the time since the last refill gives.
    pub fn refill(&mut self, now: Timestamp) {
        let millis = u64::try_from(now.since(self.refilled).as_millis()).unwrap_or(u64::MAX);
        if millis > 0 {
            let more = millis.saturating_mul(BYTES_PER_SECOND / 1000);
            self.left = self.left.saturating_add(more).min(BURST);
            self.refilled = now;
        }
    }

    /// Takes `cost` if that much is left.
    pub const fn take(&mut self, cost: u64) -> bool {
        match self.left.checked_sub(cost) {
            Some(left) => {
                self.left = left;
                true
            }
            None => false,
        }
    }

    /// Takes what a line of so many bytes costs, if that much is left.
    pub const fn take_line(&mut self, bytes: usize) -> bool {
        self.take(bytes as u64 + LINE_COST)
    }
}

struct Lines {
    sink: Arc<dyn LineSink>,
    partial: Vec<u8>,
    budget: Budget,
    dropped_lines: u64,
    dropped_bytes: u64,
}

impl Lines {
    fn new(sink: Arc<dyn LineSink>, now: Timestamp) -> Self {
        Self {
            sink,
            partial: Vec::new(),
            budget: Budget::full(now),
            dropped_lines: 0,
            dropped_bytes: 0,
        }
    }

    fn take(&mut self, mut bytes: &[u8], now: Timestamp) {
        self.budget.refill(now);
        while !bytes.is_empty() {
            let room = LINE_MAX.saturating_sub(self.partial.len()).max(1);
            let end = bytes.iter().take(room).position(|byte| *byte == b'\n');
            let taken = end.unwrap_or_else(|| bytes.len().min(room));
            let (part, rest) = bytes.split_at_checked(taken).unwrap_or((bytes, &[]));
            self.partial.extend_from_slice(part);
            bytes = if end.is_some() {
                rest.get(1..).unwrap_or_default()
            } else {
                rest
            };
            if end.is_some() || self.partial.len() >= LINE_MAX {
                self.emit();
            }
        }
    }

    fn emit(&mut self) {
        let cost = self.partial.len() as u64 + 1;
        if !self.budget.take_line(self.partial.len()) {
            self.dropped_lines += 1;
            self.dropped_bytes += cost;
        } else {
            self.report_drops();
            self.sink.line(&String::from_utf8_lossy(&self.partial));
        }
        self.partial.clear();
        self.partial.shrink_to(256);
    }

    fn report_drops(&mut self) {
        if self.dropped_lines > 0 {
            self.sink.dropped(self.dropped_lines, self.dropped_bytes);
            (self.dropped_lines, self.dropped_bytes) = (0, 0);
        }
    }

    fn end(&mut self) {
        if !self.partial.is_empty() {
            self.emit();
        }
        self.report_drops();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    #[derive(Default)]
    struct Kept(Mutex<(Vec<String>, u64)>);

    impl LineSink for Kept {
        fn line(&self, text: &str) {
            self.0.lock().unwrap().0.push(text.to_owned());
        }
        fn dropped(&self, lines: u64, _: u64) {
            self.0.lock().unwrap().1 += lines;
        }
    }

    fn lines(chunks: &[&[u8]]) -> (Vec<String>, u64) {
        let kept = Arc::new(Kept::default());
        let mut lines = Lines::new(kept.clone(), Timestamp(0));
        for chunk in chunks {
            lines.take(chunk, Timestamp(0));
        }
        lines.end();
        let kept = kept.0.lock().unwrap();
        (kept.0.clone(), kept.1)
    }

    /// SUP-31
    #[test]
    fn lines_are_cut_at_newlines_across_chunks_and_at_the_limit() {
        assert_eq!(lines(&[b"a", b"b\nc\n\nd"]).0, ["ab", "c", "", "d"]);
        let long = vec![b'x'; LINE_MAX + 10];
        assert_eq!(
            lines(&[&long, b"\n"])
                .0
                .iter()
                .map(String::len)
                .collect::<Vec<_>>(),
            [LINE_MAX, 10]
        );
        assert_eq!(lines(&[b"\xff\n"]).0, ["\u{fffd}"]);
    }

    /// SUP-31 S43: a flood is bounded, and what was dropped is counted.
    #[test]
    fn flood_is_bounded_and_drops_are_counted() {
        let chunk = b"0123456789abcde\n".repeat(1024);
        let (kept, dropped) = lines(&vec![chunk.as_slice(); 256]);
        assert_eq!(kept.len() as u64, BURST / (15 + LINE_COST));
        assert_eq!(kept.len() as u64 + dropped, 256 * 1024);
    }
}

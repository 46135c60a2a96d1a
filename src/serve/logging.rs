//! Logs, on stderr.
//!
//! Whoever reads them may stall or be gone; the node must not. Lines go through a bounded queue to a thread of their own; what does not fit is
//! dropped, counted, and told.

use std::time::Duration;

use tracing_appender::non_blocking::{ErrorCounter, NonBlockingBuilder, WorkerGuard};
use tracing_subscriber::EnvFilter;
use treewarden_runtime::task;

/// Lines that may wait for a reader. A plugin's line has at most 4 KiB, so this is at most some 16 MiB.
const LINES_WAITING: usize = 4096;
/// How often drops are told.
const TELL_DROPS_EVERY: Duration = Duration::from_secs(10);

/// How logs are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub(crate) enum LogFormat {
    /// Lines for people.
    #[default]
    Text,
    /// One JSON object a line.
    Json,
}

/// Keeps the log's thread; dropping it writes what waits, for at most about a second.
pub(super) struct Logging {
    _guard: WorkerGuard,
    dropped: ErrorCounter,
}

/// Starts logging; `RUST_LOG` chooses what, `info` without it.
pub(super) fn start(format: LogFormat) -> Logging {
    let (writer, guard) = NonBlockingBuilder::default()
        .buffered_lines_limit(LINES_WAITING)
        .lossy(true)
        .thread_name("log")
        .finish(std::io::stderr());
    let dropped = writer.error_counter();
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info"));
    let builder = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(writer);
    match format {
        LogFormat::Text => builder
            .with_ansi(std::io::IsTerminal::is_terminal(&std::io::stderr()))
            .init(),
        LogFormat::Json => builder.json().flatten_event(true).init(),
    }
    Logging {
        _guard: guard,
        dropped,
    }
}

impl Logging {
    /// Tells of dropped lines from time to time, as long as the node's runtime lives.
    pub(super) fn tell_drops(&self) {
        let dropped = self.dropped.clone();
        task::spawn("log drops", async move {
            let mut told = 0;
            loop {
                tokio::time::sleep(TELL_DROPS_EVERY).await;
                let now = dropped.dropped_lines();
                if now > told {
                    tracing::warn!(
                        lines = now - told,
                        "Log lines were dropped: nobody read them fast enough"
                    );
                    told = now;
                }
            }
        });
    }
}

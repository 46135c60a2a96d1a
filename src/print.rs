//! The one place that prints: stdout is data, stderr is talk.

/// Says something to the person at the terminal.
#[expect(clippy::print_stderr, reason = "the one place that talks on stderr")]
pub(crate) fn error(text: &str) {
    eprintln!("{text}");
}

/// Writes data to stdout. A reader that has gone (a pipe into `head`) is no failure worth words.
pub(crate) fn data(bytes: &[u8]) -> std::process::ExitCode {
    use std::io::Write as _;
    match std::io::stdout().lock().write_all(bytes) {
        Ok(()) => std::process::ExitCode::SUCCESS,
        Err(_) => std::process::ExitCode::FAILURE,
    }
}

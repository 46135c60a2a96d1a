//! The one place that prints: stdout is data, stderr is talk.

/// Says something to the person at the terminal.
#[expect(clippy::print_stderr, reason = "the one place that talks on stderr")]
pub(crate) fn error(text: &str) {
    eprintln!("{text}");
}

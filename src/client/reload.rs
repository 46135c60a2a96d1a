//! `reload`.

use super::Verdict;
use super::connection::Connection;
use super::error::ClientError;
use super::output::Output;
use super::progress::Progress;
use super::view::Reload;
use super::words::plain;

/// Makes the node read its file again.
///
/// # Errors
/// See [`ClientError`].
pub(super) fn run(connection: &Connection, output: &mut Output) -> Result<Verdict, ClientError> {
    let progress = Progress::start("reloading".to_owned());
    let answer = connection.post("/api/console/reload");
    drop(progress);
    let answer = answer?;
    let report: Reload = connection.parse(&answer.text)?;
    output.answer(&answer.text, || text(&report))?;
    Ok(Verdict::Done)
}

/// What was done, a line each; what was not done is left out.
pub(super) fn text(report: &Reload) -> String {
    let lists = [
        ("started", &report.started),
        ("stopped", &report.stopped),
        ("replaced", &report.replaced),
        ("restarted", &report.restarted),
        ("unchanged", &report.unchanged),
    ];
    let told = lists.iter().filter(|(_, names)| !names.is_empty());
    let text: String = told
        .map(|(what, names)| format!("{what:<11}{}\n", plain(&names.join(", "))))
        .collect();
    if text.is_empty() {
        "no entries are declared\n".to_owned()
    } else {
        text
    }
}

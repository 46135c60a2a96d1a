//! `entry start`, `stop`, `restart`, `kill`, `reset`.

use super::names;
use crate::client::Verdict;
use crate::client::connection::Connection;
use crate::client::error::ClientError;
use crate::client::output::Output;
use crate::client::progress::Progress;
use crate::client::view::{Entry, Stop};
use crate::client::words::{plain, stop_sentence};

/// What is done to an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::client) enum Verb {
    Start,
    Stop,
    Restart,
    Kill,
    Reset,
}

impl Verb {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::Stop => "stop",
            Self::Restart => "restart",
            Self::Kill => "kill",
            Self::Reset => "reset",
        }
    }

    const fn doing(self) -> &'static str {
        match self {
            Self::Start => "starting",
            Self::Stop => "stopping",
            Self::Restart => "restarting",
            Self::Kill => "killing",
            Self::Reset => "resetting",
        }
    }
}

/// Does it, and waits for the answer.
///
/// # Errors
/// See [`ClientError`].
pub(super) fn run(
    connection: &Connection,
    verb: Verb,
    entry: &str,
    output: &mut Output,
) -> Result<Verdict, ClientError> {
    let progress = Progress::start(format!("{} {}", verb.doing(), plain(entry)));
    let answer = names::ask(connection, entry, |name| {
        connection.post(&format!("/api/console/entries/{name}/{}", verb.as_str()))
    });
    drop(progress);
    let answer = answer?;
    let told = connection.understand(text(verb, &answer.text))?;
    output.answer(&answer.text, || told.data)?;
    if answer.status == 202 {
        output.talk("it does not run yet; `treewarden status` shows how it goes on");
    }
    if let Some(trouble) = told.trouble {
        output.talk(&trouble);
        return Ok(Verdict::NotDone);
    }
    Ok(Verdict::Done)
}

/// An answer as people are told it.
#[derive(Debug)]
pub(in crate::client) struct Told {
    /// For stdout.
    pub(in crate::client) data: String,
    /// Why what was asked for is not so.
    pub(in crate::client) trouble: Option<String>,
}

/// Puts an answer in words.
///
/// # Errors
/// It is none of this verb.
pub(in crate::client) fn text(verb: Verb, answer: &str) -> serde_json::Result<Told> {
    match verb {
        Verb::Stop | Verb::Kill | Verb::Restart => {
            let stop: Stop = serde_json::from_str(answer)?;
            named(&stop.entry)?;
            let entry = plain(&stop.entry);
            let unconfirmed = stop.outcome.as_deref() == Some("termination_unconfirmed");
            let mut data = stop_sentence(&stop);
            let trouble = match (&stop.start_error, unconfirmed) {
                (Some(error), _) => Some(format!("{entry} was not started: {}", plain(error))),
                (None, true) => Some(format!(
                    "nothing replaces {entry} until its exit is confirmed; `treewarden entry show {entry}` says what to look at"
                )),
                (None, false) => None,
            };
            if verb == Verb::Restart && trouble.is_none() {
                data.push_str(&format!("{entry}: started\n"));
            }
            Ok(Told { data, trouble })
        }
        Verb::Start | Verb::Reset => {
            let entry: Entry = serde_json::from_str(answer)?;
            named(&entry.name)?;
            let launch = entry.launch.map(|launch| format!("launch {launch}"));
            let pid = entry.pid.map(|pid| format!("pid {pid}"));
            let parts: Vec<String> = launch.into_iter().chain(pid).collect();
            let process = if parts.is_empty() {
                String::new()
            } else {
                format!(" ({})", parts.join(", "))
            };
            Ok(Told {
                data: format!("{}: {}{process}\n", plain(&entry.name), plain(&entry.state)),
                trouble: None,
            })
        }
    }
}

/// What names no entry is no answer about one.
fn named(entry: &str) -> serde_json::Result<()> {
    if entry.is_empty() {
        Err(serde::de::Error::custom("it names no entry"))
    } else {
        Ok(())
    }
}

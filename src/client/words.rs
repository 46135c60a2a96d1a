//! Sentences about what ended, and times for people.

use std::time::Duration;

use treewarden_model::time::WallTime;

use super::view::{ExitStatus, Stop};

/// A text of a plugin or a node, safe for a terminal: control characters are shown, not obeyed.
pub(super) fn plain(text: &str) -> String {
    let shown = |letter: char| match letter {
        '\t' => "    ".to_owned(),
        letter if letter.is_control() => letter.escape_default().to_string(),
        letter => letter.to_string(),
    };
    text.chars().map(shown).collect()
}

/// How a stop ended, in a sentence, its causes below.
pub(super) fn stop_sentence(stop: &Stop) -> String {
    let entry = plain(&stop.entry);
    let Some(ended) = ended(stop) else {
        return format!("{entry}: nothing ran\n");
    };
    format!("{entry}: {ended}\n{}", causes(stop, "  "))
}

/// How a launch ended, in a few words; `None`: nothing ran.
pub(super) fn ended(stop: &Stop) -> Option<String> {
    let outcome = stop.outcome.as_deref()?;
    let time = stop
        .duration_ms
        .map(|millis| format!(" in {}", millis_in_words(millis)))
        .unwrap_or_default();
    if outcome == "termination_unconfirmed" {
        let launch = stop
            .launch
            .map(|launch| format!("launch {launch}"))
            .unwrap_or_else(|| "its launch".to_owned());
        let after = stop
            .duration_ms
            .map(|millis| format!(" after {}", millis_in_words(millis)))
            .unwrap_or_default();
        return Some(format!(
            "not confirmed gone{after}: {launch} may still be running"
        ));
    }
    let evidence = stop
        .evidence
        .as_deref()
        .map(|evidence| format!(", evidence {}", plain(evidence)))
        .unwrap_or_default();
    Some(format!(
        "{} ({}){time}{evidence}",
        plain(outcome),
        exit_status(stop.exit_status.as_ref())
    ))
}

/// The causes of a cleanup error, a line each.
pub(super) fn causes(stop: &Stop, lead: &str) -> String {
    let Some(error) = &stop.cleanup_error else {
        return String::new();
    };
    if error.causes.is_empty() {
        return format!("{lead}{}\n", plain(&error.message));
    }
    error
        .causes
        .iter()
        .map(|cause| format!("{lead}{}: {}\n", plain(&cause.kind), plain(&cause.message)))
        .collect()
}

fn exit_status(status: Option<&ExitStatus>) -> String {
    match status {
        Some(ExitStatus {
            code: Some(code), ..
        }) => format!("exit code {code}"),
        Some(ExitStatus {
            signal: Some(signal),
            ..
        }) => match signal_name(*signal) {
            Some(name) => format!("signal {signal}, {name}"),
            None => format!("signal {signal}"),
        },
        _ => "exit status not known".to_owned(),
    }
}

/// The signals that end plugins in practice, by Linux's numbers.
const fn signal_name(signal: i32) -> Option<&'static str> {
    Some(match signal {
        1 => "SIGHUP",
        2 => "SIGINT",
        3 => "SIGQUIT",
        4 => "SIGILL",
        6 => "SIGABRT",
        7 => "SIGBUS",
        8 => "SIGFPE",
        9 => "SIGKILL",
        11 => "SIGSEGV",
        13 => "SIGPIPE",
        14 => "SIGALRM",
        15 => "SIGTERM",
        24 => "SIGXCPU",
        31 => "SIGSYS",
        _ => return None,
    })
}

fn millis_in_words(millis: u64) -> String {
    if millis < 10_000 {
        format!("{millis} ms")
    } else {
        format!("{}.{} s", millis / 1000, millis % 1000 / 100)
    }
}

/// A span in its two greatest units.
pub(super) fn span(time: Duration) -> String {
    let seconds = time.as_secs();
    let (days, hours, minutes, rest) = (
        seconds / 86_400,
        seconds / 3600 % 24,
        seconds / 60 % 60,
        seconds % 60,
    );
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{rest}s"),
        (0, 0, _) => format!("{minutes}m {rest}s"),
        (0, _, _) => format!("{hours}h {minutes}m"),
        _ => format!("{days}d {hours}h"),
    }
}

/// How long ago a moment was; the moment as it is written if it can't be read.
pub(super) fn ago(moment: &str, now: WallTime) -> String {
    match read(moment) {
        Some(then) => span(Duration::from_millis(now.0.saturating_sub(then.0))),
        None => plain(moment),
    }
}

/// In how long a moment comes.
pub(super) fn until(moment: &str, now: WallTime) -> String {
    match read(moment) {
        Some(then) if then <= now => "now".to_owned(),
        Some(then) => format!(
            "in {}",
            span(Duration::from_millis(
                then.0.saturating_sub(now.0).saturating_add(999)
            ))
        ),
        None => plain(moment),
    }
}

fn read(moment: &str) -> Option<WallTime> {
    let since = humantime::parse_rfc3339(moment)
        .ok()?
        .duration_since(std::time::UNIX_EPOCH)
        .ok()?;
    u64::try_from(since.as_millis()).ok().map(WallTime)
}

//! The log lines of an end (SUP-11), in one place so that they never differ.

use treewarden_model::outcome::StopResult;

/// The one info line of every confirmed end.
pub(crate) fn confirmed(result: &StopResult) {
    let ending = &result.ending;
    tracing::info!(
        entry = %result.entry,
        launch = result.launch.get(),
        remote.termination = ending.outcome.as_str(),
        remote.instance = %result.instance.id,
        remote.generation = result.instance.generation.get(),
        cause = ending.cause.as_str(),
        evidence = ending.evidence.map(treewarden_model::outcome::Evidence::as_str),
        exit_status = ending.exit_status.map(|status| status.to_string()),
        duration_ms = u64::try_from(ending.duration.as_millis()).unwrap_or(u64::MAX),
        "Remote execution terminated"
    );
    if let Some(message) = result.cleanup_message() {
        tracing::warn!(entry = %result.entry, launch = result.launch.get(), error = message, "A stop was not clean");
    }
}

/// The warning of an end that can't be confirmed.
pub(crate) fn not_confirmed(result: &StopResult) {
    tracing::warn!(
        entry = %result.entry,
        launch = result.launch.get(),
        remote.termination = result.ending.outcome.as_str(),
        remote.instance = %result.instance.id,
        remote.generation = result.instance.generation.get(),
        error = result.cleanup_message(),
        "Remote execution not confirmed terminated"
    );
}

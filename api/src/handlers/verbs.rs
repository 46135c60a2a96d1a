//! Verbs on one entry. The caller's going away cancels only the waiting (SUP-34).

use axum::http::StatusCode;
use axum::response::Response;
use treewarden_actors::answers::{EntryError, Started};

use crate::answer;
use crate::body::entry::EntryBody;
use crate::body::stop::{RestartBody, StopBody};
use crate::node::Node;
use crate::problem::Problem;

/// 200 with the status when it serves, 202 when it goes on.
pub(super) async fn start<N: Node>(node: &N, name: &str) -> Result<Response, Problem> {
    match node.start(name).await {
        Ok(Started::Running(status)) => answer::json(&EntryBody::from(*status)),
        Ok(Started::Pending(status)) => {
            answer::json_with(StatusCode::ACCEPTED, &EntryBody::from(*status))
        }
        Err(error) => Err(refused(node, name, error)),
    }
}

/// A stop result.
pub(super) async fn stop<N: Node>(node: &N, name: &str) -> Result<Response, Problem> {
    let stop = node.stop(name).await?;
    answer::json(&StopBody::of(name, stop.as_ref()))
}

/// A stop result.
pub(super) async fn kill<N: Node>(node: &N, name: &str) -> Result<Response, Problem> {
    let stop = node.kill(name).await?;
    answer::json(&StopBody::of(name, stop.as_ref()))
}

/// A stop result, and whether it serves again.
pub(super) async fn restart<N: Node>(node: &N, name: &str) -> Result<Response, Problem> {
    match node.restart(name).await {
        Ok(restarted) => answer::json(&RestartBody::of(name, restarted)),
        Err(error) => Err(refused(node, name, error)),
    }
}

/// The status.
pub(super) async fn reset<N: Node>(node: &N, name: &str) -> Result<Response, Problem> {
    answer::json(&EntryBody::from(node.reset(name).await?))
}

/// SUP-12: the refusal names the process to look at, where it is known.
fn refused<N: Node>(node: &N, name: &str, error: EntryError) -> Problem {
    let EntryError::Unconfirmed(_) = error else {
        return error.into();
    };
    let pid = node.show(name).ok().and_then(|status| status.process?.pid);
    Problem::from(error).with("pid", pid)
}

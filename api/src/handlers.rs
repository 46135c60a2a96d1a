//! What each route does.

mod actors;
mod call;
mod entries;
#[cfg(feature = "faults")]
mod faults;
mod health;
mod logs;
mod node;
mod reload;
mod verbs;

use axum::body::Body;
use axum::extract::{FromRequestParts as _, RawPathParams};
use axum::http::request::Parts;
use axum::response::Response;

use crate::node::Node;
use crate::pipeline::Shared;
use crate::problem::{Code, Problem};
use crate::request::{self, Nothing};
use crate::route::{Action, Route, Verb};

/// Runs a route for a request that was admitted.
///
/// # Errors
/// What the route says.
pub(crate) async fn run<N: Node>(
    shared: &Shared<N>,
    route: &Route,
    parts: &mut Parts,
    body: Body,
) -> Result<Response, Problem> {
    let bytes = match route.verb {
        Verb::Get => axum::body::Bytes::new(),
        Verb::Post => request::read(&parts.headers, body).await?,
    };
    if route.verb == Verb::Post && !route.takes_body() {
        request::parse_optional::<Nothing>(&parts.headers, &bytes)?;
    }
    let parameter = parameter(parts).await?;
    let name = parameter.as_str();
    let node = &shared.node;
    match route.action {
        Action::Live => health::live(),
        Action::Ready => health::ready(shared),
        Action::Node => node::show(shared),
        Action::ListEntries => entries::list(node, &parts.uri),
        Action::ShowEntry => entries::show(node, name),
        Action::StartEntry => verbs::start(node, name).await,
        Action::StopEntry => verbs::stop(node, name).await,
        Action::RestartEntry => verbs::restart(node, name).await,
        Action::KillEntry => verbs::kill(node, name).await,
        Action::ResetEntry => verbs::reset(node, name).await,
        Action::CallService => call::call(node, name, &parts.headers, &bytes).await,
        Action::Logs => logs::tail(node, name, &parts.uri),
        Action::Reload => reload::reload(node).await,
        Action::Actors => actors::tree(node, &parts.uri),
        Action::Actor => actors::show(node, name),
        #[cfg(feature = "faults")]
        Action::KillActor => faults::kill_actor(node, name),
        #[cfg(feature = "faults")]
        Action::LeapClock => faults::leap(node, &parts.headers, &bytes),
        #[cfg(feature = "faults")]
        Action::TakeBallast => faults::ballast(node, &parts.headers, &bytes),
    }
}

/// The path's parameter, decoded; empty when it has none.
async fn parameter(parts: &mut Parts) -> Result<String, Problem> {
    let parameters = RawPathParams::from_request_parts(parts, &()).await;
    let parameters =
        parameters.map_err(|_| Problem::new(Code::NotFound, "The path is not valid UTF-8."))?;
    Ok(parameters
        .iter()
        .next()
        .map(|(_, value)| value.to_owned())
        .unwrap_or_default())
}

//! What every request goes through, in this order: host → request id → route → token → operation → draining → handler.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::header::{CACHE_CONTROL, X_CONTENT_TYPE_OPTIONS};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{MethodFilter, on};
use tokio::sync::watch;
use treewarden_actors::EdgePhase;
use treewarden_model::time::Clock;

use crate::handlers;
use crate::host::Hosts;
use crate::node::Node;
use crate::operation::Operation;
use crate::problem::{Code, Problem};
use crate::request::token_hash;
use crate::request_id::{REQUEST_ID, RequestIds};
use crate::route::{Access, ROUTES, Route, Verb};

/// What all requests share.
#[derive(Debug)]
pub(crate) struct Shared<N> {
    pub(crate) node: N,
    pub(crate) phase: watch::Receiver<EdgePhase>,
    pub(crate) clock: Arc<dyn Clock>,
    /// Connections served now.
    pub(crate) connections: Arc<AtomicUsize>,
    hosts: Hosts,
    ids: RequestIds,
}

impl<N> Shared<N> {
    /// `hosts` and `listen` say which `Host` is served.
    pub(crate) fn new(
        node: N,
        phase: watch::Receiver<EdgePhase>,
        clock: Arc<dyn Clock>,
        hosts: &[String],
        listen: &[SocketAddr],
    ) -> Self {
        Self {
            node,
            phase,
            clock,
            connections: Arc::default(),
            hosts: Hosts::new(hosts, listen),
            ids: RequestIds::new(),
        }
    }

    /// Whether what changes something is still admitted.
    pub(crate) fn open(&self) -> bool {
        *self.phase.borrow() == EdgePhase::Open
    }
}

/// Where a request is bound.
#[derive(Debug, Clone, Copy)]
enum Target {
    Route(&'static Route),
    WrongMethod,
    Nowhere,
}

/// The routes of the table.
pub(crate) fn router<N: Node>(shared: Arc<Shared<N>>) -> Router {
    let mut router = Router::new();
    for route in ROUTES {
        let filter = match route.verb {
            Verb::Get => MethodFilter::GET,
            Verb::Post => MethodFilter::POST,
        };
        router = router.route(
            route.path,
            on(filter, move |state, request| {
                answer::<N>(state, Target::Route(route), request)
            }),
        );
    }
    router
        .method_not_allowed_fallback(|state, request| {
            answer::<N>(state, Target::WrongMethod, request)
        })
        .fallback(|state, request| answer::<N>(state, Target::Nowhere, request))
        .with_state(shared)
}

async fn answer<N: Node>(
    State(shared): State<Arc<Shared<N>>>,
    target: Target,
    request: Request,
) -> Response {
    let (mut parts, body) = request.into_parts();
    let id = shared.ids.of(&parts.headers);
    let admitted = admit(&shared, target, &parts);
    let outcome = match admitted {
        Ok(route) => handlers::run(&shared, route, &mut parts, body).await,
        Err(problem) => Err(problem),
    };
    let mut response = outcome.unwrap_or_else(|problem| {
        tracing::debug!(request.id = ?id, code = problem.code().as_str(), "A request is answered with a problem");
        problem.of_request(&id).into_response()
    });
    let headers = response.headers_mut();
    headers.insert(REQUEST_ID, id);
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}

fn admit<N: Node>(
    shared: &Shared<N>,
    target: Target,
    request: &Parts,
) -> Result<&'static Route, Problem> {
    shared.hosts.check(request)?;
    let route = match target {
        Target::Route(route) => route,
        Target::Nowhere => {
            return Err(Problem::new(
                Code::NotFound,
                "Nothing is served at this path.",
            ));
        }
        Target::WrongMethod => {
            let detail = "This path is served, but not with this method; the header \"allow\" lists those that are.";
            return Err(Problem::new(Code::MethodNotAllowed, detail));
        }
    };
    if let Access::Needs(operation) = route.access {
        authorize(&shared.node, operation, &request.headers)?;
    }
    if route.verb == Verb::Post && !shared.open() {
        return Err(Problem::new(
            Code::ShuttingDown,
            "The node is shutting down and takes no new work.",
        ));
    }
    Ok(route)
}

fn authorize<N: Node>(node: &N, operation: Operation, headers: &HeaderMap) -> Result<(), Problem> {
    let unknown = || {
        let detail = "A valid token is needed: send the header \"authorization: Bearer TOKEN\".";
        Problem::new(Code::NotAuthenticated, detail)
    };
    let hash = token_hash(headers).ok_or_else(unknown)?;
    let principal = node.authenticate(hash)?.ok_or_else(unknown)?;
    if operation.allowed_to(&principal) {
        return Ok(());
    }
    let detail = format!("The token does not allow the operation {operation}.");
    Err(Problem::new(Code::PermissionDenied, detail).with("operation", operation.as_str()))
}

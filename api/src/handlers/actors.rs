//! The actor tree.

use axum::http::Uri;
use axum::response::Response;

use crate::answer;
use crate::body::actor::ActorBody;
use crate::node::Node;
use crate::problem::{Code, Problem};
use crate::render;
use crate::request::Query;

/// The whole tree as `json` (the default), `text` or `dot`.
pub(super) fn tree<N: Node>(node: &N, uri: &Uri) -> Result<Response, Problem> {
    let mut query = Query::of(uri)?;
    let format = query.take("format")?;
    query.finish()?;
    match format.as_deref() {
        None | Some("json") => answer::json(&ActorBody::from(&node.tree())),
        Some("text") => Ok(answer::text(
            "text/plain; charset=utf-8",
            render::text(&node.tree()),
        )),
        Some("dot") => Ok(answer::text(
            "text/vnd.graphviz; charset=utf-8",
            render::dot(&node.tree()),
        )),
        Some(_) => Err(Problem::invalid(
            "format",
            "The parameter \"format\" must be json, text or dot.",
        )),
    }
}

/// One actor with all below it.
pub(super) fn show<N: Node>(node: &N, id: &str) -> Result<Response, Problem> {
    let tree = node.tree();
    let actor = tree.find(id).ok_or_else(nobody)?;
    answer::json(&ActorBody::from(actor))
}

/// No actor has this id.
pub(super) fn nobody() -> Problem {
    Problem::new(
        Code::NotFound,
        "There is no actor with this id in this start of the node.",
    )
}

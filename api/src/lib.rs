//! What is asked: the node's HTTP interface.
//!
//! ```text
//! listener → server (connections) → pipeline (host, request id, token, operation, draining) → handlers → Node
//! ```
//!
//! [`Edge`] implements the trait that `actors` asks for; nothing but it is public. Every route, with the operation it needs, is a row of one
//! table (`route`); every error is a `Problem` (RFC 9457); what is read and answered as JSON has a type of its own in `body`,
//! so that the rules' types may change without the contract. The handlers see the node through the trait `Node`, so their tests need none.
//!
//! What a client sends never panics a handler, is bounded in size and in time, and waits in no queue of this room.

mod answer;
mod body;
mod edge;
mod handlers;
mod host;
mod limits;
mod node;
mod operation;
mod pipeline;
mod problem;
mod render;
mod request;
mod request_id;
mod route;

#[cfg(test)]
mod tests;

pub use edge::{Edge, EdgeConfig};

//! The edge as this room sees it: `api` implements it, so that actors know no HTTP.

use std::future::Future;
use std::net::TcpListener;
use std::pin::Pin;

use tokio::sync::watch;

use crate::NodeHandle;

/// How far the edge should go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EdgePhase {
    /// Serve everything.
    Open,
    /// `/readyz` fails and unsafe requests are answered `shutting_down`; what was admitted goes on, reading goes on.
    Draining,
    /// Take no more connections; the server's future ends when those in flight are done.
    Closed,
}

/// Serves the node's HTTP interface.
pub trait EdgeServer: Send + Sync + 'static {
    /// Serves on `listener` (nonblocking) until `phase` says [`EdgePhase::Closed`]. Dropping the future closes every connection.
    fn serve(
        &self,
        listener: TcpListener,
        node: NodeHandle,
        phase: watch::Receiver<EdgePhase>,
    ) -> Pin<Box<dyn Future<Output = std::io::Result<()>> + Send>>;
}

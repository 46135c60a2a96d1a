//! The server: connections in, requests to the pipeline.

mod admission;
mod patience;
mod server;

#[cfg(test)]
pub(crate) use server::serve;

use std::future::Future;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::pin::Pin;
use std::sync::Arc;

use tokio::sync::watch;
use treewarden_actors::{EdgePhase, EdgeServer, NodeHandle};
use treewarden_model::time::Clock;

use crate::pipeline::{Shared, router};

/// How the edge serves.
#[derive(Debug, Clone)]
pub struct EdgeConfig {
    /// Host names served besides loopback ones and the listen address, without ports.
    pub hosts: Vec<String>,
    /// The configured listen address. The listener's own is served too, since its port may have been chosen by the kernel.
    pub listen: SocketAddr,
    /// Tells how long the node is up.
    pub clock: Arc<dyn Clock>,
}

/// The node's HTTP interface.
///
/// It keeps nothing between two starts: when its actor dies, dropping the future closes every connection, and
/// the next call of `serve` begins afresh. Callers lose their answers, never what they asked for.
#[derive(Debug)]
pub struct Edge {
    config: EdgeConfig,
}

impl Edge {
    /// An edge that serves when it is told to.
    #[must_use]
    pub const fn new(config: EdgeConfig) -> Self {
        Self { config }
    }
}

impl EdgeServer for Edge {
    fn serve(
        &self,
        listener: TcpListener,
        node: NodeHandle,
        phase: watch::Receiver<EdgePhase>,
    ) -> Pin<Box<dyn Future<Output = io::Result<()>> + Send>> {
        let EdgeConfig {
            hosts,
            listen,
            clock,
        } = self.config.clone();
        Box::pin(async move {
            let own = [listen, listener.local_addr()?];
            let shared = Arc::new(Shared::new(node, phase.clone(), clock, &hosts, &own));
            let connections = Arc::clone(&shared.connections);
            server::serve(listener, router(shared), connections, phase).await
        })
    }
}

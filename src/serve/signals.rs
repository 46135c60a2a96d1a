//! Signals to the node.

use tokio::signal::unix::{Signal, SignalKind, signal};
use treewarden_actors::NodeHandle;
use treewarden_runtime::task;

pub(super) struct Signals {
    terminate: Signal,
    interrupt: Signal,
    hang_up: Signal,
}

impl Signals {
    pub(super) fn listen() -> std::io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hang_up: signal(SignalKind::hangup())?,
        })
    }

    /// SIGTERM and SIGINT end the node, SIGHUP reads the configuration again. A second signal to end changes nothing: the confirmation of
    /// children is not skipped (CMP-51).
    pub(super) async fn until_told_to_end(&mut self, node: &NodeHandle) {
        loop {
            tokio::select! {
                _ = self.terminate.recv() => return,
                _ = self.interrupt.recv() => return,
                _ = self.hang_up.recv() => {
                    let node = node.clone();
                    task::spawn("reload on SIGHUP", async move {
                        if let Err(error) = node.reload().await {
                            tracing::error!(error = %error, "The configuration was not reloaded");
                        }
                    });
                }
            }
        }
    }
}

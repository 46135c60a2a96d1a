//! Accepting and serving connections.

use std::io;
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::sleep;
use treewarden_actors::EdgePhase;

use super::admission::{Place, refuse};
use super::patience::Patience;
use crate::limits::{ACCEPT_PAUSE, HEAD_BYTES, HEAD_TIME, WRITE_TIME};

/// Serves until `phase` says closed and what was in flight is answered. Dropping the future closes every connection.
///
/// # Errors
/// The listener can't be used.
pub(crate) async fn serve(
    listener: TcpListener,
    router: Router,
    places: Arc<AtomicUsize>,
    mut phase: watch::Receiver<EdgePhase>,
) -> io::Result<()> {
    let listener = tokio::net::TcpListener::from_std(listener)?;
    // Owns the connections: they are aborted when it is dropped.
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            () = closed(&mut phase) => break,
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => match Place::take(&places) {
                    Some(place) => { connections.spawn(connection(stream, router.clone(), phase.clone(), place)); }
                    None => refuse(&stream),
                },
                Err(error) => {
                    tracing::warn!(%error, "A connection could not be accepted");
                    sleep(ACCEPT_PAUSE).await;
                }
            },
            Some(ended) = connections.join_next() => note(ended),
        }
    }
    drop(listener);
    while let Some(ended) = connections.join_next().await {
        note(ended);
    }
    Ok(())
}

async fn connection(
    stream: TcpStream,
    router: Router,
    mut phase: watch::Receiver<EdgePhase>,
    _place: Place,
) {
    // Answers are small and awaited: waiting to fill a packet only delays them.
    stream.set_nodelay(true).ok();
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIME)
        .max_buf_size(HEAD_BYTES)
        .serve_connection(
            TokioIo::new(Patience::new(stream, WRITE_TIME)),
            TowerToHyperService::new(router),
        );
    tokio::pin!(served);
    let outcome = tokio::select! {
        outcome = served.as_mut() => outcome,
        () = closed(&mut phase) => {
            served.as_mut().graceful_shutdown();
            served.await
        }
    };
    if let Err(error) = outcome {
        tracing::debug!(%error, "A connection ended early");
    }
}

/// Waits until the edge is to close; a sender that is gone means the same.
async fn closed(phase: &mut watch::Receiver<EdgePhase>) {
    phase
        .wait_for(|phase| *phase == EdgePhase::Closed)
        .await
        .ok();
}

fn note(ended: Result<(), tokio::task::JoinError>) {
    if let Err(error) = ended {
        tracing::error!(%error, "A request's handler panicked; its connection is closed");
    }
}

//! Reads what the plugin says, and answers callers.

use std::io;
use std::sync::Arc;

use tokio::net::unix::pipe;
use treewarden_model::outcome::Cause;
use treewarden_protocol::{Incoming, LineSplitter, Response, decode};

use super::answer::CallFailure;
use super::{Shared, inbound};

/// Buffers read before other tasks of the thread get their turn.
const READS_A_TURN: usize = 8;

enum Turn {
    More,
    Wait,
    End(String, Cause),
}

pub(super) async fn run(shared: &Arc<Shared>, stdout: pipe::Receiver) {
    let mut splitter = LineSplitter::new();
    loop {
        if stdout.readable().await.is_err() {
            return;
        }
        match take(shared, &stdout, &mut splitter) {
            Turn::Wait => {}
            Turn::More => tokio::task::yield_now().await,
            Turn::End(reason, cause) => {
                shared.trouble(reason, cause);
                return;
            }
        }
    }
}

/// Reads what is there. Outside async code, so that an idle reader holds no buffer.
fn take(shared: &Arc<Shared>, stdout: &pipe::Receiver, splitter: &mut LineSplitter) -> Turn {
    let mut buffer = [0; 16 * 1024];
    for _ in 0..READS_A_TURN {
        let read = match stdout.try_read(&mut buffer) {
            Ok(0) => return end(splitter),
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Turn::Wait,
            Err(error) => return Turn::End(format!("its stdout can't be read: {error}"), Cause::ConnectionLost),
        };
        let mut chunk = buffer.get(..read).unwrap_or_default();
        loop {
            match splitter.next_line(&mut chunk) {
                Ok(Some(line)) => {
                    if let Err(reason) = message(shared, line) {
                        return Turn::End(reason, Cause::Crashed);
                    }
                }
                Ok(None) => break,
                Err(too_long) => return Turn::End(format!("it broke the protocol: stdout {too_long}"), Cause::Crashed),
            }
        }
    }
    Turn::More
}

fn end(splitter: &LineSplitter) -> Turn {
    if splitter.partial().is_empty() {
        Turn::End("it closed its stdout".to_owned(), Cause::ConnectionLost)
    } else {
        Turn::End("it closed its stdout in the middle of a line".to_owned(), Cause::Crashed)
    }
}

fn message(shared: &Arc<Shared>, line: &[u8]) -> Result<(), String> {
    if line.iter().all(u8::is_ascii_whitespace) {
        return Ok(());
    }
    match decode(line) {
        Ok(Incoming::Response(response)) => answer(shared, response),
        Ok(Incoming::Request(request)) => inbound::request(shared, &request),
        Ok(Incoming::Notification(notification)) => inbound::notification(shared, &notification),
        Err(error) => return Err(format!("it broke the protocol: {error}; the line begins {:?}", beginning(line))),
    }
    Ok(())
}

fn beginning(line: &[u8]) -> String {
    String::from_utf8_lossy(line.get(..line.len().min(60)).unwrap_or_default()).into_owned()
}

fn answer(shared: &Shared, response: Response<'_>) {
    let Some(id) = response.id.and_then(treewarden_protocol::Id::request_id) else {
        tracing::warn!(entry = %shared.tag.entry, "A plugin answered something nobody asked");
        return;
    };
    let known = shared.pending.answer(id, || match response.outcome {
        Ok(result) => Ok(result.to_owned()),
        Err(error) => Err(CallFailure::Plugin(error)),
    });
    if !known {
        // Twice, or never asked. It changes nothing: the first answer counted.
        tracing::debug!(entry = %shared.tag.entry, id = id.get(), "A plugin answered a call twice, or one that nobody made");
    }
}

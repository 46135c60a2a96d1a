//! Reads what the plugin says, and answers callers.

use std::future::poll_fn;
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead as _, ReadBuf};
use tokio::net::unix::pipe;
use treewarden_model::outcome::Cause;
use treewarden_protocol::{Incoming, LineSplitter, Response, decode};

use super::answer::CallFailure;
use super::poke::FINISH;
use super::{Shared, inbound};

/// Buffers read before other tasks of the thread get their turn.
const READS_A_TURN: usize = 8;

/// Reads that empty a pipe of the largest size an unprivileged process may make it (1 MiB).
const DRAIN_READS: usize = 64;

/// Bytes read at once.
const CHUNK: usize = 16 * 1024;

enum Turn {
    More,
    Drained,
    Finished,
    End(String, Cause),
}

pub(super) async fn run(shared: &Arc<Shared>, mut stdout: pipe::Receiver) {
    let mut splitter = LineSplitter::new();
    loop {
        match poll_fn(|context| turn(context, shared, &mut stdout, &mut splitter)).await {
            Turn::More => tokio::task::yield_now().await,
            Turn::Drained => {}
            Turn::Finished => return,
            Turn::End(reason, cause) => {
                shared.trouble(reason, cause);
                shared.drained.notify_one();
                return;
            }
        }
    }
}

/// Reads what is there; when there is nothing, does what was asked of the reader.
fn turn(
    context: &mut Context<'_>,
    shared: &Arc<Shared>,
    stdout: &mut pipe::Receiver,
    splitter: &mut LineSplitter,
) -> Poll<Turn> {
    if let Poll::Ready(turn) = take(context, shared, stdout, splitter) {
        return Poll::Ready(turn);
    }
    match shared.poke.look(context.waker()) {
        0 => Poll::Pending,
        asked if asked & FINISH != 0 => Poll::Ready(Turn::Finished),
        _ => Poll::Ready(drain(shared, stdout, splitter)),
    }
}

/// Reads what a process that has exited left in the pipe, at most as much as a pipe holds, without waiting to be told that there is something.
fn drain(shared: &Arc<Shared>, stdout: &pipe::Receiver, splitter: &mut LineSplitter) -> Turn {
    let mut memory = [0; CHUNK];
    for _ in 0..DRAIN_READS {
        match rustix::io::read(stdout, &mut memory) {
            Ok(0) => return end(splitter),
            Ok(read) => {
                if let Err(turn) = lines(shared, memory.get(..read).unwrap_or_default(), splitter) {
                    return turn;
                }
            }
            Err(rustix::io::Errno::INTR) => {}
            // Nothing is left; whoever else holds the other end is not waited for.
            Err(_) => break,
        }
    }
    shared.drained.notify_one();
    Turn::Drained
}

/// Handles the whole lines of a chunk; the error ends the connection.
fn lines(shared: &Arc<Shared>, mut chunk: &[u8], splitter: &mut LineSplitter) -> Result<(), Turn> {
    loop {
        match splitter.next_line(&mut chunk) {
            Ok(Some(line)) => {
                message(shared, line).map_err(|reason| Turn::End(reason, Cause::Crashed))?;
            }
            Ok(None) => return Ok(()),
            Err(too_long) => {
                let reason = format!("it broke the protocol: stdout {too_long}");
                return Err(Turn::End(reason, Cause::Crashed));
            }
        }
    }
}

/// Reads what is there. The buffer lies outside async code, so that an idle reader holds none. `poll_read` knows that a pipe which gave
/// less than was asked for is empty, and saves the read that would say so.
fn take(
    context: &mut Context<'_>,
    shared: &Arc<Shared>,
    stdout: &mut pipe::Receiver,
    splitter: &mut LineSplitter,
) -> Poll<Turn> {
    let mut memory = [const { MaybeUninit::uninit() }; CHUNK];
    for _ in 0..READS_A_TURN {
        let mut buffer = ReadBuf::uninit(&mut memory);
        match Pin::new(&mut *stdout).poll_read(context, &mut buffer) {
            Poll::Pending => return Poll::Pending,
            Poll::Ready(Ok(())) => {}
            Poll::Ready(Err(error)) => {
                return Poll::Ready(Turn::End(
                    format!("its stdout can't be read: {error}"),
                    Cause::ConnectionLost,
                ));
            }
        }
        let chunk = buffer.filled();
        if chunk.is_empty() {
            return Poll::Ready(end(splitter));
        }
        if let Err(turn) = lines(shared, chunk, splitter) {
            return Poll::Ready(turn);
        }
    }
    Poll::Ready(Turn::More)
}

fn end(splitter: &LineSplitter) -> Turn {
    if splitter.partial().is_empty() {
        Turn::End("it closed its stdout".to_owned(), Cause::ConnectionLost)
    } else {
        Turn::End(
            "it closed its stdout in the middle of a line".to_owned(),
            Cause::Crashed,
        )
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
        Err(error) => {
            return Err(format!(
                "it broke the protocol: {error}; the line begins {:?}",
                beginning(line)
            ));
        }
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

//! A registered function, its types erased.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use serde::Serialize;
use serde_json::value::RawValue;
use treewarden_protocol::event::{EventDeliver, EventOutcome};
use treewarden_protocol::hook::{HookOutcome, HookRun};

use crate::call::{Call, Event, Hook, parse};
use crate::deadline::CallState;
use crate::failure::Failure;
use crate::reply::Reply;

/// Where a handler runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// On the thread that reads.
    Reader,
    /// On one of the pool.
    Worker,
}

type Erased =
    dyn Fn(Option<&RawValue>, &CallState, &mut Reply<'_>) -> Result<(), Failure> + Send + Sync;

/// What answers a request.
pub(crate) struct Handler {
    pub(crate) place: Place,
    run: Box<Erased>,
}

impl Handler {
    /// A method of a service; its parameters are the call's own.
    pub(crate) fn method<R: Serialize>(
        service: &str,
        method: &str,
        place: Place,
        function: impl Fn(&Call<'_>) -> Result<R, Failure> + Send + Sync + 'static,
    ) -> Self {
        let (service, method) = (service.to_owned(), method.to_owned());
        let run = move |params: Option<&RawValue>, state: &CallState, reply: &mut Reply<'_>| {
            let result = function(&Call {
                service: &service,
                method: &method,
                params,
                state,
            })?;
            reply.result(&result)
        };
        Self {
            place,
            run: Box::new(run),
        }
    }

    /// A hook handler; its parameters are those of `hook.run`.
    pub(crate) fn hook(
        place: Place,
        function: impl Fn(&Hook<'_>) -> Result<HookOutcome, Failure> + Send + Sync + 'static,
    ) -> Self {
        let run = move |params: Option<&RawValue>, state: &CallState, reply: &mut Reply<'_>| {
            let run: HookRun<'_> = parse(params)?;
            reply.result(&function(&Hook { run, state })?)
        };
        Self {
            place,
            run: Box::new(run),
        }
    }

    /// An event handler; its parameters are those of `event.deliver`.
    pub(crate) fn event(
        place: Place,
        function: impl Fn(&Event<'_>) -> Result<EventOutcome, Failure> + Send + Sync + 'static,
    ) -> Self {
        let run = move |params: Option<&RawValue>, state: &CallState, reply: &mut Reply<'_>| {
            let deliver: EventDeliver<'_> = parse(params)?;
            reply.result(&function(&Event { deliver, state })?)
        };
        Self {
            place,
            run: Box::new(run),
        }
    }

    /// Runs it and answers, whatever it does.
    pub(crate) fn answer(
        &self,
        params: Option<&RawValue>,
        state: &CallState,
        reply: &mut Reply<'_>,
    ) {
        let start = reply.buffer.len();
        let ran = catch(|| state.scope(|| (self.run)(params, state, reply)));
        if let Err(failure) = ran {
            reply.buffer.truncate(start);
            reply.error(failure.object());
        }
    }
}

/// Turns a panic into a failure. What a handler shares with others is its own to keep whole.
pub(crate) fn catch(body: impl FnOnce() -> Result<(), Failure>) -> Result<(), Failure> {
    catch_unwind(AssertUnwindSafe(body))
        .unwrap_or_else(|panic| Err(Failure::application(describe(&*panic))))
}

fn describe(panic: &(dyn Any + Send)) -> String {
    let message = panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    message.map_or_else(
        || "panicked".to_owned(),
        |message| format!("panicked: {message}"),
    )
}

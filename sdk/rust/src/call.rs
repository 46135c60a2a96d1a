//! What a handler is given.

use std::time::Duration;

use serde::Deserialize;
use serde_json::value::RawValue;
use treewarden_protocol::InvocationContext;
use treewarden_protocol::event::{Delivery, EventDeliver};
use treewarden_protocol::hook::{HookRun, Phase};

use crate::deadline::CallState;
use crate::failure::Failure;

/// A call of one of the plugin's methods.
pub struct Call<'a> {
    pub(crate) service: &'a str,
    pub(crate) method: &'a str,
    pub(crate) params: Option<&'a RawValue>,
    pub(crate) state: &'a CallState,
}

impl<'a> Call<'a> {
    /// The service called.
    #[must_use]
    pub const fn service(&self) -> &'a str {
        self.service
    }

    /// The method called.
    #[must_use]
    pub const fn method(&self) -> &'a str {
        self.method
    }

    /// The parameters as a type; absent parameters read as null.
    ///
    /// # Errors
    ///
    /// `invalid`, and where they do not fit.
    pub fn params<T: Deserialize<'a>>(&self) -> Result<T, Failure> {
        parse(self.params)
    }

    /// Whether the caller waits no longer: it cancelled, or the time is over. A long handler looks now and then, and gives up.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.state.is_cancelled()
    }

    /// Time left, counted from receipt; `None` without a bound.
    #[must_use]
    pub fn remaining(&self) -> Option<Duration> {
        self.state.remaining()
    }
}

/// A run of one of the plugin's hook handlers.
pub struct Hook<'a> {
    pub(crate) run: HookRun<'a>,
    pub(crate) state: &'a CallState,
}

impl<'a> Hook<'a> {
    /// The extension point, `<interface>.<phase>`.
    #[must_use]
    pub fn point(&self) -> &str {
        &self.run.point
    }

    /// The phase.
    #[must_use]
    pub const fn phase(&self) -> &Phase {
        &self.run.phase
    }

    /// Whom it runs for.
    #[must_use]
    pub const fn context(&self) -> &InvocationContext {
        &self.run.context
    }

    /// The input as a type; see [`protocol::hook`](crate::protocol::hook) for the phases' own.
    ///
    /// # Errors
    ///
    /// `invalid`, and where it does not fit.
    pub fn input<T: Deserialize<'a>>(&self) -> Result<T, Failure> {
        parse(Some(self.run.input))
    }

    /// As [`Call::is_cancelled`].
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.state.is_cancelled()
    }

    /// As [`Call::remaining`].
    #[must_use]
    pub fn remaining(&self) -> Option<Duration> {
        self.state.remaining()
    }
}

/// A delivery to one of the plugin's event handlers. It comes again until one is acknowledged.
pub struct Event<'a> {
    pub(crate) deliver: EventDeliver<'a>,
    pub(crate) state: &'a CallState,
}

impl<'a> Event<'a> {
    /// Whom it runs for.
    #[must_use]
    pub const fn context(&self) -> &InvocationContext {
        &self.deliver.context
    }

    /// The event, its payload not yet parsed.
    #[must_use]
    pub const fn delivery(&self) -> &Delivery<'a> {
        &self.deliver.delivery
    }

    /// The payload as a type.
    ///
    /// # Errors
    ///
    /// `invalid`, and where it does not fit.
    pub fn payload<T: Deserialize<'a>>(&self) -> Result<T, Failure> {
        parse(Some(self.deliver.delivery.payload))
    }

    /// As [`Call::is_cancelled`].
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.state.is_cancelled()
    }

    /// As [`Call::remaining`].
    #[must_use]
    pub fn remaining(&self) -> Option<Duration> {
        self.state.remaining()
    }
}

/// Reads parameters; what does not fit is the caller's fault.
pub(crate) fn parse<'a, T: Deserialize<'a>>(params: Option<&'a RawValue>) -> Result<T, Failure> {
    let text = params.map_or("null", RawValue::get);
    serde_json::from_str(text)
        .map_err(|error| Failure::invalid(format!("params do not fit: {error}")))
}

//! Write a Treewarden plugin in Rust.
//!
//! A plugin is a program that speaks [`treewarden.plugin/1`](protocol) over its stdin and stdout. This crate speaks it for
//! you: declare what the plugin offers, then [`run`](Plugin::run).
//!
//! ```no_run
//! use std::process::ExitCode;
//! use treewarden_sdk::Plugin;
//!
//! fn main() -> ExitCode {
//!     let mut plugin = Plugin::new("greeter");
//!     let host = plugin.host();
//!     plugin
//!         .service("greeter")
//!         .inline("ping", |_call| Ok("pong"))
//!         .method("greet", move |call| {
//!             let name: String = call.params()?;
//!             Ok(format!("hello {name}, from {}", host.instance().id))
//!         });
//!     plugin.finalizer("goodbye", |_shutdown| Ok(()));
//!     plugin.run()
//! }
//! ```
//!
//! **Threads.** Lines are read on the thread that calls `run`. A method registered with [`inline`](Service::inline) runs
//! right there: no thread is woken, and all answers of one read leave in one write. Use it for what neither blocks nor calls
//! a service. Everything else runs on a pool that grows with the calls that are open and shrinks to nothing when idle.
//!
//! **Standard streams.** [`Plugin::new`] moves the real stdin and stdout out of the way first, so that a stray `println!`
//! lands in the log (SUP-29) and a child process can't swallow the host's lines.
//!
//! **The end.** `shutdown`, the end of stdin (SUP-22) and a broken line all run the finalizers, the last registered first. A
//! panic in a handler or finalizer is caught and answered; the plugin lives on.
//!
//! **Run by hand**, outside any node, a plugin reads the identity `local`, 0 (SUP-14) and answers lines typed at it.
//!
//! There is no async runtime and no dependency on one.

#![forbid(unsafe_code)]

pub use treewarden_protocol as protocol;

mod call;
mod clock;
mod deadline;
mod failure;
mod fence;
mod finish;
mod handler;
mod host;
mod inbound;
mod outbox;
mod pending;
mod plugin;
mod registry;
mod reply;
mod session;
mod streams;
mod workers;

pub use call::{Call, Event, Hook};
pub use failure::Failure;
pub use fence::{Fence, StaleGeneration};
pub use finish::{Shutdown, ShutdownReason};
pub use host::Host;
pub use plugin::{Plugin, Service};
pub use protocol::event::EventOutcome;
pub use protocol::hook::HookOutcome;
pub use protocol::log::LogLevel;
pub use protocol::{ErrorKind, Generation, Identity};

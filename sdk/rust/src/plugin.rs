//! Declaring and running a plugin.

use std::io::{self, Read, Write};
use std::process::ExitCode;

use serde::Serialize;
use treewarden_protocol::MAX_IN_FLIGHT;
use treewarden_protocol::event::EventOutcome;
use treewarden_protocol::hook::HookOutcome;

use crate::call::{Call, Event, Hook};
use crate::failure::Failure;
use crate::finish::{Finalizer, Shutdown};
use crate::handler::{Handler, Place};
use crate::host::Host;
use crate::outbox::Outbox;
use crate::registry::Registry;
use crate::session::Session;
use crate::streams::{self, Streams};

/// A plugin being declared. Create it before anything prints.
pub struct Plugin {
    name: String,
    registry: Registry,
    host: Host,
    input: io::Result<Box<dyn Read + Send>>,
    workers: usize,
}

impl Plugin {
    /// Takes over the process's stdin and stdout; see the [crate's page](crate). Once a process.
    ///
    /// The name is for logs; who the plugin is, [`Host::instance`] tells. A stream that can't be moved is reported by
    /// [`run`](Self::run).
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        match streams::take() {
            Ok(Streams { input, output }) => Self::build(name.into(), Ok(input), output),
            Err(error) => Self::build(name.into(), Err(error), Box::new(io::sink())),
        }
    }

    /// A plugin on streams of one's own, for tests: nothing of the process is touched.
    #[must_use]
    pub fn on_streams(
        name: impl Into<String>,
        input: impl Read + Send + 'static,
        output: impl Write + Send + 'static,
    ) -> Self {
        Self::build(name.into(), Ok(Box::new(input)), Box::new(output))
    }

    fn build(
        name: String,
        input: io::Result<Box<dyn Read + Send>>,
        output: Box<dyn Write + Send>,
    ) -> Self {
        let host = Host::new(Outbox::new(output));
        Self {
            name,
            registry: Registry::default(),
            host,
            input,
            workers: MAX_IN_FLIGHT,
        }
    }

    /// The way to the host, for handlers and threads of the plugin's own. Cheap to clone.
    #[must_use]
    pub fn host(&self) -> Host {
        self.host.clone()
    }

    /// Most threads for calls, 32 unless set: as many as a host has requests open, so that none waits for another.
    pub const fn workers(&mut self, threads: usize) -> &mut Self {
        self.workers = threads;
        self
    }

    /// Declares a service; its methods are added to what is returned.
    pub fn service(&mut self, name: impl Into<String>) -> Service<'_> {
        let name = name.into();
        self.registry.services.entry(name.clone()).or_default();
        Service {
            registry: &mut self.registry,
            name,
        }
    }

    /// Runs once after `initialize` and before its answer, when identity and config are known and services may be called.
    /// A failure refuses the start, with its message on the entry's status. Within 10 seconds, all of them.
    pub fn on_start(
        &mut self,
        function: impl FnOnce(&Host) -> Result<(), Failure> + Send + 'static,
    ) -> &mut Self {
        self.registry.start.push(Box::new(function));
        self
    }

    /// Declares a hook handler.
    pub fn hook(
        &mut self,
        name: &str,
        function: impl Fn(&Hook<'_>) -> Result<HookOutcome, Failure> + Send + Sync + 'static,
    ) -> &mut Self {
        self.registry
            .add_hook(name, Handler::hook(Place::Worker, function));
        self
    }

    /// As [`hook`](Self::hook), on the reading thread: see [`Service::inline`].
    pub fn inline_hook(
        &mut self,
        name: &str,
        function: impl Fn(&Hook<'_>) -> Result<HookOutcome, Failure> + Send + Sync + 'static,
    ) -> &mut Self {
        self.registry
            .add_hook(name, Handler::hook(Place::Reader, function));
        self
    }

    /// Declares an event handler. An event may come more than once: its `event_id` tells.
    pub fn event(
        &mut self,
        name: &str,
        function: impl Fn(&Event<'_>) -> Result<EventOutcome, Failure> + Send + Sync + 'static,
    ) -> &mut Self {
        self.registry
            .add_event(name, Handler::event(Place::Worker, function));
        self
    }

    /// As [`event`](Self::event), on the reading thread: see [`Service::inline`].
    pub fn inline_event(
        &mut self,
        name: &str,
        function: impl Fn(&Event<'_>) -> Result<EventOutcome, Failure> + Send + Sync + 'static,
    ) -> &mut Self {
        self.registry
            .add_event(name, Handler::event(Place::Reader, function));
        self
    }

    /// Registers a finalizer. On the way out all of them run, the last registered first, after the calls in flight have had
    /// half of the time to end. What the plugin uses still answers. One that fails or panics is reported by its name and
    /// keeps no other from running.
    pub fn finalizer(
        &mut self,
        name: impl Into<String>,
        function: impl FnOnce(&Shutdown) -> Result<(), Failure> + Send + 'static,
    ) -> &mut Self {
        self.registry.finalizers.push(Finalizer {
            name: name.into(),
            function: Box::new(function),
        });
        self
    }

    /// Serves the host until it is done, runs the finalizers, and answers how it went: 0, or 1 after a broken line, a stream
    /// that could not be moved, a name declared twice, or a finalizer that failed with no host left to tell.
    ///
    /// Return it from `main`: threads that still run then end with the process.
    #[must_use = "the plugin's exit code"]
    pub fn run(self) -> ExitCode {
        let input = match (self.input, self.registry.duplicates.as_slice()) {
            (Ok(input), []) => input,
            (Ok(_), names) => {
                return complain(&self.name, &format!("declared twice: {}", names.join(", ")));
            }
            (Err(error), _) => {
                return complain(
                    &self.name,
                    &format!("can't take over stdin and stdout: {error}"),
                );
            }
        };
        match Session::new(self.registry, self.host, self.workers).run(input) {
            Ok(()) => ExitCode::SUCCESS,
            Err(reason) => complain(&self.name, &reason),
        }
    }
}

/// Tells the log. Not `eprintln!`, which panics where nobody reads.
fn complain(name: &str, reason: &str) -> ExitCode {
    _ = writeln!(io::stderr(), "{name}: {reason}");
    ExitCode::FAILURE
}

/// A service being declared.
pub struct Service<'a> {
    registry: &'a mut Registry,
    name: String,
}

impl Service<'_> {
    /// Adds a method that runs on a thread of the pool: it may take its time, and call services.
    pub fn method<R: Serialize>(
        &mut self,
        name: &str,
        function: impl Fn(&Call<'_>) -> Result<R, Failure> + Send + Sync + 'static,
    ) -> &mut Self {
        self.add(name, Place::Worker, function)
    }

    /// Adds a method that runs on the reading thread, several times cheaper. While it runs nothing else is read, so it must
    /// neither block nor call a service (which fails with `invalid`).
    pub fn inline<R: Serialize>(
        &mut self,
        name: &str,
        function: impl Fn(&Call<'_>) -> Result<R, Failure> + Send + Sync + 'static,
    ) -> &mut Self {
        self.add(name, Place::Reader, function)
    }

    fn add<R: Serialize>(
        &mut self,
        name: &str,
        place: Place,
        function: impl Fn(&Call<'_>) -> Result<R, Failure> + Send + Sync + 'static,
    ) -> &mut Self {
        let handler = Handler::method(&self.name, name, place, function);
        self.registry.add_method(&self.name, name, handler);
        self
    }
}

//! Names of the methods.

/// Host → plugin: first request of a launch. [`InitializeParams`](crate::InitializeParams) → [`InitializeResult`](crate::InitializeResult).
pub const INITIALIZE: &str = "initialize";
/// Both directions: [`ServiceCall`](crate::service::ServiceCall) → any.
pub const SERVICE_CALL: &str = "service.call";
/// Host → plugin: [`HookRun`](crate::hook::HookRun) → [`HookOutcome`](crate::hook::HookOutcome).
pub const HOOK_RUN: &str = "hook.run";
/// Host → plugin: [`EventDeliver`](crate::event::EventDeliver) → [`EventOutcome`](crate::event::EventOutcome).
pub const EVENT_DELIVER: &str = "event.deliver";
/// Host → plugin: [`ShutdownParams`](crate::lifecycle::ShutdownParams) → null, after the finalizers.
pub const SHUTDOWN: &str = "shutdown";
/// Host → plugin, notification: [`CancelParams`](crate::lifecycle::CancelParams).
pub const CANCEL: &str = "$/cancel";
/// Plugin → host: [`DataGet`](crate::data::DataGet) → [`DataRow`](crate::data::DataRow) or null.
pub const DATA_GET: &str = "data.get";
/// Plugin → host, notification: [`LogRecord`](crate::log::LogRecord).
pub const LOG: &str = "log";

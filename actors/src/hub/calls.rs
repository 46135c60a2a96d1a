//! Calls: from the edge, and from plugin to plugin. They never pass through an actor.

use std::sync::Arc;
use std::time::Duration;

use serde_json::value::RawValue;
use treewarden_model::name::ServiceName;
use treewarden_model::time::Clock as _;
use treewarden_runtime::connection::{CallFailure, HostCalls, Reply};
use treewarden_runtime::launcher::{Boxed, LaunchTag};
use treewarden_runtime::log_lines::{Budget, LINE_MAX};

use super::Hub;
use crate::answers::{CallError, CallResult};
use crate::limits::{CALL_TIMEOUT, CALL_TIMEOUT_MAX};
use crate::mailbox::lock;

impl Hub {
    pub(crate) async fn call(
        &self,
        name: &str,
        service: &str,
        method: &str,
        params: Option<&RawValue>,
        timeout: Option<Duration>,
    ) -> CallResult {
        let timeout = timeout.unwrap_or(CALL_TIMEOUT).min(CALL_TIMEOUT_MAX);
        let provider = self
            .services
            .find(service)
            .filter(|provider| provider.entry.as_str() == name);
        let failure = match provider {
            Some(provider) => match provider
                .connection
                .call(service, method, params, timeout)
                .await
            {
                Ok(result) => return Ok(result),
                Err(failure) => failure,
            },
            None => CallFailure::Unavailable,
        };
        Err(self.call_error(name, service, failure))
    }

    fn call_error(&self, name: &str, service: &str, failure: CallFailure) -> CallError {
        match failure {
            CallFailure::Plugin(error) => CallError::Plugin {
                code: error.code,
                kind: error.kind().as_str().to_owned(),
                message: error.message,
                data: error.data,
            },
            CallFailure::ConnectionLost => CallError::ConnectionLost,
            CallFailure::Deadline(timeout) => {
                CallError::DeadlineExceeded(u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX))
            }
            CallFailure::Capacity(limit) => CallError::CapacityExhausted { limit },
            CallFailure::TooLarge(why) | CallFailure::Denied(why) => CallError::Invalid(why),
            CallFailure::Stale => CallError::StaleGeneration,
            CallFailure::Unavailable => self.unavailable(name, service),
        }
    }

    /// Why a service can't be called: the entry, the declaration, or the moment.
    fn unavailable(&self, name: &str, service: &str) -> CallError {
        let Some(cell) = self.cell(name) else {
            return CallError::NotFound(name.to_owned());
        };
        let declaration = cell.declared();
        if !declaration
            .provides
            .iter()
            .any(|provided| provided.as_str() == service)
        {
            let all: Vec<&str> = declaration
                .provides
                .iter()
                .map(ServiceName::as_str)
                .collect();
            let provided = if all.is_empty() {
                "nothing".to_owned()
            } else {
                all.join(", ")
            };
            return CallError::Invalid(format!(
                "entry {name} does not provide service {service}; it provides {provided}"
            ));
        }
        let why = self
            .status(&cell)
            .map_or_else(|| "it is going".to_owned(), |status| status.reason);
        CallError::Unavailable {
            entry: cell.name.clone(),
            service: service.to_owned(),
            why,
        }
    }

    /// Whether a launch is the current one of its entry (SUP-16).
    fn is_current(&self, tag: &LaunchTag) -> bool {
        let cell = self.cell(tag.entry.as_str());
        cell.and_then(|cell| cell.launch())
            .is_some_and(|launch| launch.tag == *tag)
    }
}

/// Levels of a structured log record; another counts as `info`.
const LEVELS: [&str; 5] = ["trace", "debug", "info", "warn", "error"];

/// The node as plugins see it.
#[derive(Debug)]
pub(crate) struct HubCalls(pub(crate) Arc<Hub>);

impl HostCalls for HubCalls {
    fn service_call(
        &self,
        caller: &LaunchTag,
        service: ServiceName,
        method: String,
        params: Option<Box<RawValue>>,
    ) -> Boxed<Reply> {
        let (hub, caller) = (self.0.clone(), caller.clone());
        Box::pin(async move {
            if !hub.is_current(&caller) {
                return Err(CallFailure::Stale);
            }
            match hub.services.find(service.as_str()) {
                Some(provider) => {
                    provider
                        .connection
                        .call(service.as_str(), &method, params.as_deref(), CALL_TIMEOUT)
                        .await
                }
                None => Err(CallFailure::Unavailable),
            }
        })
    }

    fn log(&self, caller: &LaunchTag, level: &str, message: &str) {
        let Some(cell) = self.0.cell(caller.entry.as_str()) else {
            return;
        };
        let level = LEVELS
            .iter()
            .find(|known| **known == level)
            .unwrap_or(&"info");
        let text: String = message.chars().take(LINE_MAX).collect();
        let now = self.0.now();
        let dropped = {
            let mut records = lock(&cell.records);
            let (budget, dropped) = &mut *records;
            let budget = budget.get_or_insert_with(|| Budget::full(now));
            budget.refill(now);
            if !budget.take_line(text.len()) {
                *dropped += 1;
                return;
            }
            std::mem::take(dropped)
        };
        let mut log = lock(&cell.log);
        if dropped > 0 {
            let lost = format!("{dropped} log records were dropped: it wrote too fast");
            log.push(self.0.clock.wall(), "dropped", &lost);
        }
        log.push(self.0.clock.wall(), "log", &format!("{level}: {text}"));
        drop(log);
        tracing::info!(
            target: "treewarden::plugin",
            entry = %caller.entry, launch = caller.launch.get(), instance = %caller.instance.id, level, text, dropped, "A plugin logged"
        );
    }
}

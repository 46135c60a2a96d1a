//! What the plugin declared.

use std::collections::BTreeMap;
use std::sync::Arc;

use treewarden_protocol::InitializeResult;

use crate::failure::Failure;
use crate::finish::Finalizer;
use crate::handler::Handler;
use crate::host::Host;

/// Runs once, when the plugin knows who it is.
pub(crate) type StartHook = Box<dyn FnOnce(&Host) -> Result<(), Failure> + Send>;

/// Everything registered before `run`.
#[derive(Default)]
pub(crate) struct Registry {
    pub(crate) services: BTreeMap<String, BTreeMap<String, Arc<Handler>>>,
    pub(crate) hooks: BTreeMap<String, Arc<Handler>>,
    pub(crate) events: BTreeMap<String, Arc<Handler>>,
    pub(crate) start: Vec<StartHook>,
    pub(crate) finalizers: Vec<Finalizer>,
    /// Names registered twice: a mistake of the author, told at `run`.
    pub(crate) duplicates: Vec<String>,
}

impl Registry {
    pub(crate) fn add_method(&mut self, service: &str, method: &str, handler: Handler) {
        let methods = self.services.entry(service.to_owned()).or_default();
        if methods
            .insert(method.to_owned(), Arc::new(handler))
            .is_some()
        {
            self.duplicates.push(format!("method {service}.{method}"));
        }
    }

    pub(crate) fn add_hook(&mut self, name: &str, handler: Handler) {
        if self
            .hooks
            .insert(name.to_owned(), Arc::new(handler))
            .is_some()
            || self.events.contains_key(name)
        {
            self.duplicates.push(format!("handler {name}"));
        }
    }

    pub(crate) fn add_event(&mut self, name: &str, handler: Handler) {
        if self
            .events
            .insert(name.to_owned(), Arc::new(handler))
            .is_some()
            || self.hooks.contains_key(name)
        {
            self.duplicates.push(format!("handler {name}"));
        }
    }

    /// What `initialize` answers.
    pub(crate) fn offer(&self) -> InitializeResult {
        let methods = |methods: &BTreeMap<String, Arc<Handler>>| methods.keys().cloned().collect();
        InitializeResult {
            provides: self
                .services
                .iter()
                .map(|(name, of)| (name.clone(), methods(of)))
                .collect(),
            handlers: self
                .hooks
                .keys()
                .chain(self.events.keys())
                .cloned()
                .collect(),
        }
    }
}

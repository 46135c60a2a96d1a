//! From a request to the handler it names.

use std::borrow::Cow;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::value::RawValue;
use treewarden_protocol::service::ServiceCall;
use treewarden_protocol::{ErrorKind, ErrorObject, Request, method};

use super::{Session, full};
use crate::call::parse;
use crate::deadline::CallState;
use crate::failure::Failure;
use crate::handler::{Handler, Place};
use crate::inbound::InboundCall;
use crate::reply::Reply;

/// What the reading thread needs to know of `hook.run` and `event.deliver`.
#[derive(Deserialize)]
struct Head<'a> {
    #[serde(borrow)]
    handler: Cow<'a, str>,
    context: HeadContext,
}

#[derive(Deserialize)]
struct HeadContext {
    timeout_ms: Option<u64>,
}

impl Session {
    pub(super) fn service_call(&mut self, request: &Request<'_>) -> Result<(), Failure> {
        self.admit()?;
        let call: ServiceCall<'_> = parse(request.params)?;
        let handler = self.method(&call)?;
        self.dispatch(request, handler, call.params, call.timeout_ms)
    }

    pub(super) fn handler_call(&mut self, request: &Request<'_>) -> Result<(), Failure> {
        self.admit()?;
        let head: Head<'_> = parse(request.params)?;
        let handlers = if request.method == method::HOOK_RUN {
            &self.registry.hooks
        } else {
            &self.registry.events
        };
        let handler = handlers.get(&*head.handler).cloned();
        let handler = handler.ok_or_else(|| not_found(&format!("handler {}", head.handler)))?;
        self.dispatch(request, handler, request.params, head.context.timeout_ms)
    }

    /// Whether a call may begin. Outside any node the first one is the start.
    fn admit(&mut self) -> Result<(), Failure> {
        if self.stopping {
            return Err(Failure::new(
                ErrorKind::Unavailable,
                "the plugin is shutting down",
            ));
        }
        self.start_by_hand()
    }

    fn method(&self, call: &ServiceCall<'_>) -> Result<Arc<Handler>, Failure> {
        let methods = self.registry.services.get(&*call.service).ok_or_else(|| {
            Failure::new(
                ErrorKind::Unavailable,
                format!("this plugin does not provide service {}", call.service),
            )
        })?;
        let handler = methods.get(&*call.method).map(Arc::clone);
        handler.ok_or_else(|| not_found(&format!("{}.{}", call.service, call.method)))
    }

    fn dispatch(
        &mut self,
        request: &Request<'_>,
        handler: Arc<Handler>,
        params: Option<&RawValue>,
        timeout_ms: Option<u64>,
    ) -> Result<(), Failure> {
        let state = CallState::starting_now(timeout_ms);
        if handler.place == Place::Reader {
            let mut reply = Reply {
                frame_bytes: self.host.frame_bytes(),
                buffer: &mut self.answers,
                id: request.id,
            };
            handler.answer(params, &state, &mut reply);
            return Ok(());
        }
        let call = InboundCall {
            id: request.id.to_owned_id(),
            handler,
            params: params.map(ToOwned::to_owned),
            state: Arc::new(state),
        };
        let (host, inbound) = (self.host.clone(), self.inbound.clone());
        inbound.enter(&call);
        let submitted = self
            .workers
            .submit(Box::new(move || call.run(&host, &inbound)));
        submitted.map_err(|_full| {
            self.inbound.leave(request.id);
            full()
        })
    }
}

fn not_found(what: &str) -> Failure {
    Failure::from_object(ErrorObject::method_not_found(what))
}

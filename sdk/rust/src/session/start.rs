//! `initialize`, or the start outside any node.

use std::mem;

use treewarden_protocol::{Identity, InitializeParams, LaunchNumber, PROTOCOL, Request};

use super::{Session, full};
use crate::call::parse;
use crate::failure::Failure;
use crate::handler::catch;
use crate::reply::Reply;

impl Session {
    pub(super) fn initialize(&mut self, request: &Request<'_>) -> Result<(), Failure> {
        let params: InitializeParams = parse(request.params)?;
        if params.protocol != PROTOCOL {
            return Err(Failure::invalid(format!(
                "this plugin speaks {PROTOCOL}, not {}",
                params.protocol
            )));
        }
        if !self.host.begin(params) {
            return Err(Failure::invalid("the plugin is initialized already"));
        }
        let offer = self.registry.offer();
        let hooks = mem::take(&mut self.registry.start);
        if hooks.is_empty() {
            return self.reply(request.id).result(&offer);
        }
        // On a thread of the pool, since they may call services.
        let (host, id) = (self.host.clone(), request.id.to_owned_id());
        let job = move || {
            let mut line = Vec::new();
            let mut reply = Reply {
                buffer: &mut line,
                id: id.as_id(),
                frame_bytes: host.frame_bytes(),
            };
            let started = hooks.into_iter().try_for_each(|hook| catch(|| hook(&host)));
            if let Err(failure) = started.and_then(|()| reply.result(&offer)) {
                reply.error(failure.object());
            }
            host.outbox().write(&line);
        };
        self.workers.submit(Box::new(job)).map_err(|_full| full())
    }

    /// Somebody types calls at a plugin outside any node: it starts as `local`, 0 (SUP-14).
    pub(super) fn start_by_hand(&mut self) -> Result<(), Failure> {
        if self.host.start().is_some() {
            return Ok(());
        }
        self.host.begin(InitializeParams::new(
            Identity::outside_any_node(),
            LaunchNumber::default(),
        ));
        let hooks = mem::take(&mut self.registry.start);
        hooks
            .into_iter()
            .try_for_each(|hook| catch(|| hook(&self.host)))
    }
}

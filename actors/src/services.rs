//! Who serves which service right now. Calls find their plugin here, without a lock and past every actor.

use std::collections::HashMap;
use std::sync::Arc;

use arc_swap::ArcSwap;
use treewarden_model::name::{EntryName, ServiceName};
use treewarden_runtime::connection::Connection;

/// A service that is served.
#[derive(Debug, Clone)]
pub(crate) struct Provider {
    pub(crate) entry: EntryName,
    pub(crate) connection: Connection,
}

#[derive(Debug, Default)]
pub(crate) struct Services {
    table: ArcSwap<HashMap<ServiceName, Provider>>,
}

impl Services {
    pub(crate) fn find(&self, service: &str) -> Option<Provider> {
        self.table.load().get(service).cloned()
    }

    pub(crate) fn announce(&self, services: &[ServiceName], connection: &Connection) {
        self.change(|table| {
            for service in services {
                let provider = Provider {
                    entry: connection.tag().entry.clone(),
                    connection: connection.clone(),
                };
                table.insert(service.clone(), provider);
            }
        });
    }

    /// Takes back what this connection announced, and nothing that another has announced since.
    pub(crate) fn withdraw(&self, services: &[ServiceName], connection: &Connection) {
        self.change(|table| {
            for service in services {
                if table
                    .get(service)
                    .is_some_and(|provider| provider.connection.tag() == connection.tag())
                {
                    table.remove(service);
                }
            }
        });
    }

    fn change(&self, change: impl Fn(&mut HashMap<ServiceName, Provider>)) {
        self.table.rcu(|table| {
            let mut table = HashMap::clone(table);
            change(&mut table);
            Arc::new(table)
        });
    }
}

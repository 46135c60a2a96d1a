//! What is answered as JSON: types of their own, so that the rules' types may change without the contract.

pub(crate) mod actor;
pub(crate) mod entry;
pub(crate) mod log;
pub(crate) mod node;
pub(crate) mod reload;
pub(crate) mod stop;
pub(crate) mod time;

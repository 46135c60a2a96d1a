//! Which `Host` is served: a page of another name that resolves to this address (DNS rebinding) gets nothing.

use std::net::{IpAddr, SocketAddr};

use axum::http::header::HOST;
use axum::http::request::Parts;
use axum::http::uri::Authority;

use crate::problem::{Code, Problem};

/// The hosts served: loopback names and addresses, the listen address, and the configured names.
#[derive(Debug)]
pub(crate) struct Hosts {
    names: Vec<String>,
    addresses: Vec<IpAddr>,
}

impl Hosts {
    /// `names` as configured: a name or an address, without a port.
    pub(crate) fn new(names: &[String], listen: &[SocketAddr]) -> Self {
        Self {
            names: names.to_vec(),
            addresses: listen.iter().map(SocketAddr::ip).collect(),
        }
    }

    /// Checks a request's host.
    ///
    /// # Errors
    /// `host_not_allowed`: there is none, more than one, or one that is not served.
    pub(crate) fn check(&self, request: &Parts) -> Result<(), Problem> {
        let mut headers = request.headers.get_all(HOST).iter();
        let header = match (headers.next(), headers.next()) {
            (Some(header), None) => Some(header.to_str().map_err(|_| refused())?),
            (None, _) => None,
            (Some(_), Some(_)) => return Err(refused()),
        };
        // A target in absolute form wins over the header (RFC 9112); both must be ours.
        let target = request.uri.authority().map(Authority::as_str);
        if header.is_none() && target.is_none() {
            return Err(refused());
        }
        if header
            .into_iter()
            .chain(target)
            .all(|host| self.serves(host))
        {
            Ok(())
        } else {
            Err(refused())
        }
    }

    fn serves(&self, authority: &str) -> bool {
        let Some(host) = without_port(authority) else {
            return false;
        };
        let bare = host
            .strip_prefix('[')
            .and_then(|host| host.strip_suffix(']'))
            .unwrap_or(host);
        if let Ok(address) = bare.parse::<IpAddr>() {
            // Who listens on every address can't list them; an address as such can't be rebound.
            let ours = |own: &IpAddr| own.is_unspecified() || *own == address;
            return address.to_canonical().is_loopback()
                || self.addresses.iter().any(ours)
                || self.names.iter().any(|name| name == bare);
        }
        let name = host.strip_suffix('.').unwrap_or(host);
        let loopback = |name: &str| {
            let below = name
                .len()
                .checked_sub(".localhost".len())
                .and_then(|at| name.get(at..));
            name.eq_ignore_ascii_case("localhost")
                || below.is_some_and(|end| end.eq_ignore_ascii_case(".localhost"))
        };
        loopback(name)
            || self
                .names
                .iter()
                .any(|known| known.eq_ignore_ascii_case(name))
    }
}

/// The host of `host`, `host:port`, `[v6]` or `[v6]:port`; `None` for anything else.
fn without_port(authority: &str) -> Option<&str> {
    let end = if authority.starts_with('[') {
        authority.find(']')?.checked_add(1)?
    } else {
        authority.find(':').unwrap_or(authority.len())
    };
    let (host, port) = authority.split_at_checked(end)?;
    let port_is_fine = port.is_empty()
        || port
            .strip_prefix(':')
            .is_some_and(|port| port.bytes().all(|byte| byte.is_ascii_digit()));
    (!host.is_empty() && port_is_fine).then_some(host)
}

fn refused() -> Problem {
    Problem::new(
        Code::HostNotAllowed,
        "The request's host is none that this node serves: use a loopback name or the listen address, or add the name to node.hosts.",
    )
}

//! The section `node`.

use std::net::SocketAddr;

use serde_json::Value;
use treewarden_model::declaration::problem::{Fault, Problems, Shown};
use treewarden_model::declaration::section::{Section, wrong_kind};

use super::files::Folder;
use super::{NodeConfig, STORAGE_FLOOR};

/// Most names the node is served under.
const HOSTS_MAX: usize = 64;

/// Longest host name, by DNS.
const HOST_BYTES_MAX: usize = 253;

pub(super) fn read(
    mut section: Section<'_>,
    folder: &Folder,
    problems: &mut Problems,
) -> NodeConfig {
    let behind_proxy = section.flag("behind_proxy", problems).unwrap_or_default();
    let tls = section.take("tls").is_some();
    if tls {
        tls_is_refused(&mut section, problems);
    }
    let listen = listen(&mut section, behind_proxy || tls, problems);
    let data_dir = section
        .file("data_dir", problems)
        .map(|text| folder.absolute(text));
    let hosts = hosts(&mut section, problems);
    let storage_floor = section
        .size("storage_floor", problems)
        .unwrap_or(STORAGE_FLOOR);
    if section.take("run_as").is_some() {
        let fix = "remove it: plugins run as the node's user";
        problems.report(
            section.at("run_as"),
            Fault::NotAvailable {
                what: "is ".to_owned(),
                fix,
            },
        );
    }
    section.finish(problems);
    NodeConfig {
        listen,
        data_dir,
        hosts,
        behind_proxy,
        storage_floor,
    }
}

impl NodeConfig {
    /// Whether the node may serve plain HTTP at an address, from the file or the command line: only what is on this
    /// machine may reach it, unless a proxy ends TLS before it.
    pub(crate) fn may_listen(address: SocketAddr, behind_proxy: bool) -> bool {
        behind_proxy || address.ip().to_canonical().is_loopback()
    }
}

/// What has to do with security is refused rather than ignored, after it has been read like everything else.
fn tls_is_refused(section: &mut Section<'_>, problems: &mut Problems) {
    let fix = "remove it, and let a proxy that ends TLS stand before the node (behind_proxy: true)";
    problems.report(
        section.at("tls"),
        Fault::NotAvailable {
            what: "is ".to_owned(),
            fix,
        },
    );
    let mut tls = section.section("tls", problems);
    for (key, fix) in [
        ("cert_file", "name the file of the certificate chain"),
        ("key_file", "name the file of the private key"),
    ] {
        if tls.take(key).is_none() {
            problems.report(tls.at(key), Fault::Missing { fix });
        }
        tls.file(key, problems);
    }
    tls.finish(problems);
}

fn listen(
    section: &mut Section<'_>,
    protected: bool,
    problems: &mut Problems,
) -> Option<SocketAddr> {
    const EXPECTED: &str = "an IP address and a port such as 127.0.0.1:7420";
    let text = section.text("listen", EXPECTED, problems)?;
    let Ok(address) = text.parse::<SocketAddr>() else {
        problems.report(
            section.at("listen"),
            Fault::WrongKind {
                found: format!("the text {}", Shown(text)),
                expected: EXPECTED,
            },
        );
        return None;
    };
    if !NodeConfig::may_listen(address, protected) {
        problems.report(section.at("listen"), Fault::Refused(format!(
            "{address} can be reached from other machines, where tokens would travel in clear; listen on a loopback address, \
             or set behind_proxy: true if a proxy that ends TLS stands before the node"
        )));
        return None;
    }
    Some(address)
}

fn hosts(section: &mut Section<'_>, problems: &mut Problems) -> Vec<String> {
    let items = section.list(
        "hosts",
        "a list of host names such as [node.example]",
        problems,
    );
    if items.len() > HOSTS_MAX {
        let fix = "name those that clients use";
        problems.report(
            section.at("hosts"),
            Fault::TooMuch {
                what: "host names",
                found: items.len(),
                limit: HOSTS_MAX,
                fix,
            },
        );
        return Vec::new();
    }
    let mut hosts = Vec::with_capacity(items.len());
    for (index, item) in items.iter().enumerate() {
        match item {
            Value::String(text) if is_host(text) => hosts.push(text.to_ascii_lowercase()),
            other => problems.report(
                section.at("hosts").index(index),
                wrong_kind(
                    other,
                    "a host name without scheme, port and path, such as node.example",
                ),
            ),
        }
    }
    hosts
}

/// A DNS name or an IP address, an IPv6 address with or without its brackets.
fn is_host(text: &str) -> bool {
    let inner = text
        .strip_prefix('[')
        .and_then(|text| text.strip_suffix(']'));
    if inner.unwrap_or(text).parse::<std::net::IpAddr>().is_ok() {
        return true;
    }
    let label = |label: &str| {
        let plain = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'_';
        (1..=63).contains(&label.len())
            && label.bytes().all(plain)
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    text.len() <= HOST_BYTES_MAX && text.strip_suffix('.').unwrap_or(text).split('.').all(label)
}

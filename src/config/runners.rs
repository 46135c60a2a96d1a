//! The section `runners`: checked in whole, so that a file that will be used with runners is right already; nothing connects to them yet.

use serde_json::{Map, Value};
use treewarden_model::declaration::problem::{Fault, Problems, Shown};
use treewarden_model::declaration::section::Section;
use treewarden_model::name::EntryName;

/// Longest path of a Unix socket on Linux, without its NUL.
const SOCKET_PATH_MAX: usize = 107;

const EXPECTED: &str = "unix:PATH or https://HOST:PORT";

/// Checks the section and answers the runners' names.
pub(super) fn check<'a>(
    runners: Option<&'a Map<String, Value>>,
    parent: &Section<'_>,
    problems: &mut Problems,
) -> Vec<&'a str> {
    let mut names = Vec::new();
    for (name, body) in runners.into_iter().flatten() {
        names.push(name.as_str());
        let path = parent.at("runners").key(name);
        // Runners are named by the grammar of entries.
        if let Err(error) = EntryName::parse(name) {
            problems.report(path.clone(), error);
        }
        runner(Section::open(path, Some(body), problems), problems);
    }
    names
}

fn runner(mut section: Section<'_>, problems: &mut Problems) {
    let present = section.take("connect").is_some();
    let connect = section.text("connect", EXPECTED, problems);
    if !present {
        problems.report(
            section.at("connect"),
            Fault::Missing {
                fix: "say where the runner listens: unix:PATH or https://HOST:PORT",
            },
        );
    }
    let token_given = section.take("token_file").is_some();
    section.file("token_file", problems);
    section.file("ca_file", problems);
    section.positive_duration("lease", problems);
    section.positive_duration("margin", problems);
    if let Some(connect) = connect {
        match connect_fault(connect) {
            Some(fault) => problems.report(section.at("connect"), fault),
            None if connect.starts_with("https:") && !token_given => {
                problems.report(
                    section.at("token_file"),
                    Fault::Missing {
                        fix: "https needs one: name the file that holds the runner's token",
                    },
                );
            }
            None => {}
        }
    }
    section.finish(problems);
}

fn connect_fault(connect: &str) -> Option<Fault> {
    let refused = |why: &str| Some(Fault::Refused(format!("{} {why}", Shown(connect))));
    if let Some(path) = connect.strip_prefix("unix:") {
        return match path {
            "" => refused("names no socket; write unix:PATH"),
            _ if path.contains('\0') => refused("contains NUL; remove it"),
            _ if path.len() > SOCKET_PATH_MAX => {
                refused("is longer than the path of a socket can be (107 bytes); use a shorter one")
            }
            _ => None,
        };
    }
    if let Some(authority) = connect.strip_prefix("https://") {
        let authority = authority.strip_suffix('/').unwrap_or(authority);
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | ':' | '[' | ']');
        let port = authority
            .rsplit_once(':')
            .filter(|(_, port)| !port.ends_with(']'));
        let port_is_right = port.is_none_or(|(host, port)| {
            !host.is_empty() && port.parse::<u16>().is_ok_and(|port| port > 0)
        });
        if authority.is_empty() || !authority.chars().all(plain) || !port_is_right {
            return refused("names no host and port; write https://HOST:PORT");
        }
        return None;
    }
    if connect.starts_with("http://") {
        return refused("would send the token in clear; write https://HOST:PORT");
    }
    refused("is no address of a runner; write unix:PATH or https://HOST:PORT")
}

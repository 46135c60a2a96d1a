//! The faults there are, and those in force.

use std::collections::BTreeMap;
use std::sync::Mutex;

/// When a fault shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Moment {
    /// From now on, whenever its occasion comes.
    Lasting,
    /// Once, at once (on the command line: when `initialize` is answered).
    Act,
}

/// Every fault: name, moment, whether it takes a value.
pub(crate) const KNOWN: &[(&str, Moment, bool)] = &[
    // Start and handshake.
    ("exit-at-once", Moment::Lasting, true), // exit code, before reading anything
    ("exit-in-handshake", Moment::Lasting, true), // exit code, instead of answering `initialize`
    ("never-handshake", Moment::Lasting, false),
    ("handshake-ms", Moment::Lasting, true), // answers `initialize` that much later
    ("omit-services", Moment::Lasting, false), // provides nothing, whatever was declared
    ("refuse-handshake", Moment::Lasting, false), // answers `initialize` with an error
    // Calls.
    ("never-answer", Moment::Lasting, false),
    ("crash-on-call", Moment::Lasting, false),
    ("answer-twice", Moment::Lasting, false),
    ("late-answer", Moment::Lasting, true), // milliseconds after the call's own deadline
    ("stubborn", Moment::Lasting, false),   // `$/cancel` is ignored
    // Stopping.
    ("ignore-shutdown", Moment::Lasting, false),
    ("ignore-eof", Moment::Lasting, false),
    ("ignore-term", Moment::Lasting, false),
    ("finalizer-ms", Moment::Lasting, true),
    ("finalizer-fail", Moment::Lasting, false),
    ("finalizer-call", Moment::Lasting, true), // service.method, called by the finalizer
    ("finalizer-file", Moment::Lasting, true), // a file the finalizer writes
    ("linger-ms", Moment::Lasting, true), // stays that long after `shutdown` was answered and stdin has ended
    ("exit-code", Moment::Lasting, true), // of a graceful stop
    // Acts.
    ("exit", Moment::Act, true), // CODE@MS
    ("fork-holder", Moment::Act, false),
    ("daemon", Moment::Act, true), // file for its pid
    ("daemon-holding-stdout", Moment::Act, true),
    ("fork-storm", Moment::Act, true), // number of chains
    ("close-stdout", Moment::Act, false),
    ("half-frame", Moment::Act, false),
    ("long-line", Moment::Act, true), // bytes
    ("bad-utf8", Moment::Act, false),
    ("bad-json", Moment::Act, false),
    ("flood-stderr", Moment::Act, true), // bytes a second, 0: as fast as possible
    ("stderr-line", Moment::Act, true),  // text
    ("answer-unasked", Moment::Act, false),
    ("stop-self", Moment::Act, false),
    ("abort", Moment::Act, false),
    ("signal-self", Moment::Act, true), // number
    ("print-garbage", Moment::Act, false),
    ("no-read", Moment::Act, false),
    ("eat-memory", Moment::Act, true), // MiB
];

/// Faults in force, by name.
#[derive(Debug, Default)]
pub(crate) struct Faults(Mutex<BTreeMap<String, String>>);

impl Faults {
    /// Whether this fault needs a value.
    pub(crate) fn takes_value(name: &str) -> bool {
        KNOWN
            .iter()
            .any(|(known, _, value)| *known == name && *value)
    }

    /// Switches a fault on.
    pub(crate) fn set(&self, name: &str, value: &str) -> Result<Moment, String> {
        let known = KNOWN.iter().find(|(known, ..)| *known == name);
        let (_, moment, _) = known.ok_or_else(|| format!("unknown fault {name}"))?;
        self.0
            .lock()
            .unwrap()
            .insert(name.to_owned(), value.to_owned());
        Ok(*moment)
    }

    /// Switches a fault off.
    pub(crate) fn clear(&self, name: &str) {
        self.0.lock().unwrap().remove(name);
    }

    /// Whether a fault is in force.
    pub(crate) fn on(&self, name: &str) -> bool {
        self.0.lock().unwrap().contains_key(name)
    }

    /// A fault's value, if it is in force.
    pub(crate) fn text(&self, name: &str) -> Option<String> {
        self.0.lock().unwrap().get(name).cloned()
    }

    /// A fault's value as a number, if it is in force.
    pub(crate) fn number<N: std::str::FromStr>(&self, name: &str) -> Option<N> {
        self.text(name).map(|text| {
            text.parse()
                .unwrap_or_else(|_| panic!("{name} takes a number, not {text:?}"))
        })
    }

    /// Acts in force, with their values.
    pub(crate) fn acts(&self) -> Vec<(String, String)> {
        let all = self.0.lock().unwrap();
        let act = |name: &str| {
            KNOWN
                .iter()
                .any(|(known, moment, _)| *known == name && *moment == Moment::Act)
        };
        all.iter()
            .filter(|(name, _)| act(name))
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect()
    }
}

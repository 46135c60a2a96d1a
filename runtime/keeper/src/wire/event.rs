//! What the keeper tells the node.

use serde::{Deserialize, Serialize};

use crate::cgroup::EnforcedLimits;
use crate::identity::{ProcessId, ProcessIdentity, StartTime};
use crate::mark::Ordinal;
use crate::outcome::{Evidence, ExitStatus};

/// An event. Those of one launch come in the order `Spawned`, `Exited`, `Gone`, each once; `Refused` comes alone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "event")]
pub enum Event {
    /// The keeper holds its lock and is ready. First of all events.
    Hello {
        /// The keeper's process number.
        pid: ProcessId,
    },
    /// The keeper cannot work and ends; nothing was started. Comes in place of `Hello`.
    CannotStart {
        /// Why: another keeper still holds the lock, or a system call failed.
        reason: String,
    },
    /// The launch's process exists and waits at the gate. A pidfd comes along; without one (the descriptor table was
    /// full) close its stdin: the gate then ends it.
    Spawned {
        /// The launch.
        ordinal: Ordinal,
        /// Its leader.
        pid: ProcessId,
        /// When the leader started.
        start_time: StartTime,
        /// What holds its limits.
        limits: EnforcedLimits,
    },
    /// The request started nothing.
    Refused {
        /// The launch, where the request could be read so far.
        ordinal: Option<Ordinal>,
        /// Why.
        reason: String,
    },
    /// The leader was reaped; members of its family may live on.
    Exited {
        /// The launch.
        ordinal: Ordinal,
        /// The leader's exit status.
        status: ExitStatus,
    },
    /// The whole family is gone. Last event of the launch; the keeper has forgotten it.
    Gone {
        /// The launch.
        ordinal: Ordinal,
        /// What shows it.
        evidence: Evidence,
        /// Whether SIGKILL, the keeper's or anyone's, ended a member.
        killed: bool,
        /// Whether the kernel ended a member for want of memory, as far as its control group says.
        out_of_memory: bool,
    },
    /// The processes that no launch can be found for, whenever that list changes; it may be empty again. While one
    /// lives, no launch that started before it is reported `Gone`.
    Unascribed {
        /// The first of them, by pid.
        processes: Vec<UnascribedProcess>,
        /// How many more there are.
        more: usize,
    },
}

/// A process that could not be ascribed to a launch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnascribedProcess {
    /// Who it is.
    #[serde(flatten)]
    pub identity: ProcessIdentity,
    /// The program's short name, as the kernel keeps it.
    pub name: String,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::{MAX_EVENT_BYTES, MAX_NAMED_UNASCRIBED};

    #[test]
    fn events_round_trip() {
        let (ordinal, pid) = (Ordinal::new(3), ProcessId::current());
        for event in [
            Event::Hello { pid },
            Event::CannotStart {
                reason: "why".into(),
            },
            Event::Spawned {
                ordinal,
                pid,
                start_time: StartTime(4),
                limits: EnforcedLimits::default(),
            },
            Event::Refused {
                ordinal: None,
                reason: "why".into(),
            },
            Event::Exited {
                ordinal,
                status: ExitStatus::Signal {
                    signal: 11,
                    core: true,
                },
            },
            Event::Gone {
                ordinal,
                evidence: Evidence::Tree,
                killed: true,
                out_of_memory: false,
            },
            largest(),
        ] {
            let bytes = serde_json::to_vec(&event).unwrap();
            assert_eq!(serde_json::from_slice::<Event>(&bytes).unwrap(), event);
        }
    }

    #[test]
    fn largest_event_fits_into_its_packet() {
        assert!(serde_json::to_vec(&largest()).unwrap().len() <= MAX_EVENT_BYTES);
    }

    fn largest() -> Event {
        let pid = ProcessId::try_from(i32::MAX).unwrap();
        let identity = ProcessIdentity {
            pid,
            start_time: StartTime(u64::MAX),
        };
        // 15 bytes, each of which JSON writes as six characters.
        let process = UnascribedProcess {
            identity,
            name: "\u{1}".repeat(15),
        };
        Event::Unascribed {
            processes: vec![process; MAX_NAMED_UNASCRIBED],
            more: usize::MAX,
        }
    }
}

//! Faults for tests (cargo feature `faults`, never in a release build).
//!
//! Fail points, by the crate `fail`, from the environment variable `FAILPOINTS`: `launch.spawn`, `launch.spawned`, `launch.recorded`,
//! `launch.ready`, `end.confirmed`, `end.recorded`. With `pause` a test stops the node at exactly that step, and kills it there.

use std::sync::Mutex;
use std::time::Duration;

use crate::NodeHandle;
use crate::mailbox::lock;

static BALLAST: Mutex<Vec<u8>> = Mutex::new(Vec::new());

/// Arms the fail points that the environment names. Call it once, before the node starts.
pub fn arm() {
    // Kept for the life of the process: its end would disarm them.
    std::mem::forget(fail::FailScenario::setup());
}

impl NodeHandle {
    /// Kills the actor with this id, as a panic would; `false`: there is none, or it is the root.
    pub fn kill_actor(&self, id: &str) -> bool {
        fn find(actor: &ractor::ActorCell, id: &str) -> Option<ractor::ActorCell> {
            actor.get_children().into_iter().find_map(|child| {
                if child.get_id().to_string() == id {
                    Some(child)
                } else {
                    find(&child, id)
                }
            })
        }
        let found = self.hub().root.get().and_then(|root| find(root, id));
        found.is_some_and(|actor| {
            actor.kill();
            true
        })
    }

    /// Shifts the deciding clock forward, as a suspend would.
    pub fn leap(&self, by: Duration) {
        self.hub().clock.leap(by);
        self.hub().timers.nudge();
    }

    /// Fills so many bytes of the node's memory.
    pub fn ballast(&self, bytes: usize) {
        *lock(&BALLAST) = vec![1; bytes];
    }
}

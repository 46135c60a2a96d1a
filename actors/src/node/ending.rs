//! The shutdown: carries out what the machine of `model` says.

use std::sync::Arc;
use std::time::Duration;

use ractor::ActorRef;
use tokio::sync::mpsc;
use treewarden_model::entry::Answer;
use treewarden_model::outcome::Outcome;
use treewarden_model::shutdown::{Effect, Ending, Event, Shutdown, Step};
use treewarden_model::termination::{ANSWER_AFTER_KILL, EXIT_WINDOW, INTERRUPT_WINDOW};
use treewarden_runtime::task;

use crate::edge_server::EdgePhase;
use crate::hub::Hub;
use crate::mailbox::Look;
use crate::warden::{self, WardenHandle};

pub(super) async fn run(hub: Arc<Hub>, root: ActorRef<Look>, warden: WardenHandle) -> Ending {
    tracing::info!("The node shuts down");
    let (events, mut inbox) = mpsc::channel::<Event>(16);
    let (mut machine, mut effects) = Shutdown::begin(longest_ladders(&hub), hub.now());
    loop {
        for effect in std::mem::take(&mut effects) {
            match effect {
                Effect::Begin(step) => {
                    tracing::debug!(step = step.as_str(), "A step of the shutdown begins");
                    begin(step, &hub, &root, &warden, events.clone());
                }
                Effect::WakeAt(at) => {
                    let events = events.clone();
                    hub.timers.wake_at(at, move || {
                        events.try_send(Event::Tick).ok();
                    });
                }
                Effect::Report(step, what) => {
                    tracing::error!(
                        step = step.as_str(),
                        error = what,
                        "A step of the shutdown did not finish"
                    );
                }
                Effect::Finished(ending) => return ending,
            }
        }
        let Some(event) = inbox.recv().await else {
            return Ending::Unfinished;
        };
        effects = machine.step(event, hub.now());
    }
}

fn begin(
    step: Step,
    hub: &Arc<Hub>,
    root: &ActorRef<Look>,
    warden: &WardenHandle,
    events: mpsc::Sender<Event>,
) {
    let (hub, root, mut warden) = (hub.clone(), root.clone(), warden.clone());
    task::spawn("shutdown step", async move {
        let done = match step {
            Step::Edge => {
                warden::begin_shutdown(&hub);
                hub.edge_phase.send_replace(EdgePhase::Draining);
                Event::Done
            }
            Step::Entries => {
                let done = stop_entries(&hub).await;
                hub.edge_phase.send_replace(EdgePhase::Closed);
                done
            }
            Step::Keeper => {
                warden.close().await;
                let living = warden::living(&hub);
                if living.is_empty() {
                    Event::Done
                } else {
                    Event::Unfinished(format!("still there: {}", living.join(", ")))
                }
            }
            Step::Store => {
                // Bottom up: a supervisor's graceful stop kills its children without their `post_stop`.
                root.get_cell().stop_children_and_wait(None, None).await;
                root.stop_and_wait(None, None).await.ok();
                match hub.store.clone().close().await {
                    Ok(()) => Event::Done,
                    Err(error) => Event::Unfinished(error.to_string()),
                }
            }
        };
        events.send(done).await.ok();
    });
}

/// Stops everything, consumers first, and waits for every answer.
async fn stop_entries(hub: &Arc<Hub>) -> Event {
    let waiting: Vec<_> = hub
        .cells()
        .iter()
        .map(|cell| (cell.name.clone(), hub.ask_to_shut_down(cell)))
        .collect();
    let mut left = Vec::new();
    for (name, mut waiter) in waiting {
        if let Some(Ok(Answer::Stopped(Some(result)))) = waiter.answer().await
            && result.ending.outcome == Outcome::TerminationUnconfirmed
        {
            left.push(format!("{name} (launch {})", result.launch));
        }
    }
    if left.is_empty() {
        Event::Done
    } else {
        Event::Unfinished(format!("exit not confirmed: {}", left.join(", ")))
    }
}

/// The longest time that a chain of consumers may take by their ladders.
fn longest_ladders(hub: &Hub) -> Duration {
    let cells = hub.cells();
    let ladder = |timeout: Duration| timeout + EXIT_WINDOW + INTERRUPT_WINDOW + ANSWER_AFTER_KILL;
    let declarations = cells
        .iter()
        .map(|cell| (cell.name.clone(), (*cell.declared()).clone()))
        .collect();
    let Ok(graph) = treewarden_model::graph::Graph::new(&declarations) else {
        return declarations
            .values()
            .map(|declaration| ladder(declaration.shutdown_timeout))
            .sum();
    };
    // Consumers come after what they use; so the longest chain that ends in an entry is known when its users are reached.
    let mut longest = std::collections::BTreeMap::new();
    for name in graph.start_order() {
        let own = declarations
            .get(&name)
            .map_or(Duration::ZERO, |declaration| {
                ladder(declaration.shutdown_timeout)
            });
        let below = graph
            .dependencies(&name)
            .iter()
            .filter_map(|used| longest.get(used))
            .max()
            .copied()
            .unwrap_or_default();
        longest.insert(name, own + below);
    }
    longest.values().max().copied().unwrap_or_default()
}

//! Making a launch of a declaration.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, OnceLock};

use treewarden_model::declaration::{Declaration, EnvValue};
use treewarden_model::entry::Event;
use treewarden_model::id::Instance;
use treewarden_model::launch::Launch;
use treewarden_model::retry::Dice;
use treewarden_runtime::launcher::{LaunchSpec, LaunchTag};
use treewarden_runtime::local;
use treewarden_runtime::processes::wire::Limits;
use uuid::Uuid;

use crate::cell::{EntryCell, LaunchCell, LaunchItem};
use crate::hub::{Hub, ordinal_of};
use crate::mailbox::{Mailbox, lock};

/// Begins a launch, or says why there is none.
pub(super) fn launch(hub: &Arc<Hub>, cell: &Arc<EntryCell>) {
    match prepare(hub, cell) {
        Ok(launch) => {
            hub.step(&cell.name, Event::Numbered(launch.spec.tag.launch));
            hub.enlist(ordinal_of(&launch), launch.clone());
            *lock(&cell.launch) = Some(launch);
        }
        Err(reason) => {
            tracing::warn!(entry = %cell.name, error = reason, "An entry could not be launched");
            cell.post(Event::NeverRan {
                reason,
                dice: dice(),
            });
        }
    }
}

/// A random number for the machines, which draw none themselves.
pub(crate) fn dice() -> Dice {
    let [a, b, c, d, ..] = Uuid::new_v4().into_bytes();
    Dice(u32::from_le_bytes([a, b, c, d]))
}

fn prepare(hub: &Hub, cell: &Arc<EntryCell>) -> Result<Arc<LaunchCell>, String> {
    let declaration = cell.declared();
    let (number, ordinal) = hub
        .store
        .next_launch(&cell.name)
        .map_err(|error| error.to_string())?;
    let tag = LaunchTag {
        entry: cell.name.clone(),
        launch: number,
        ordinal,
        instance: Instance::local(Uuid::new_v4()),
    };
    let (program, args) = program(&declaration)?;
    let spec = LaunchSpec {
        env: environment(hub, &declaration, &tag)?,
        tag,
        program,
        args,
        working_dir: hub.data_dir.join("work").join(cell.name.as_str()),
        limits: Limits {
            open_files: declaration.limits.open_files,
            memory_bytes: declaration.limits.memory,
        },
        config: declaration.config.clone(),
        uses: declaration.uses.clone(),
        provides: declaration.provides.clone(),
    };
    let (machine, effects) = Launch::begin();
    let mailbox = Mailbox::default();
    for effect in effects {
        mailbox.post(LaunchItem::Effect(effect));
    }
    Ok(Arc::new(LaunchCell {
        spec,
        shutdown_timeout: declaration.shutdown_timeout,
        mailbox,
        machine: Mutex::new(machine),
        process: OnceLock::new(),
        entry: cell.clone(),
        actor_starts: AtomicU64::new(0),
    }))
}

/// The program as a path: a bare name is looked up in the plugin's own PATH, as a shell would.
fn program(declaration: &Declaration) -> Result<(PathBuf, Vec<OsString>), String> {
    let Some((program, args)) = declaration.command.split_first() else {
        return Err("its command is empty".to_owned());
    };
    let args = args.iter().map(OsString::from).collect();
    if program.contains('/') {
        return Ok((PathBuf::from(program), args));
    }
    let path = match declaration.env.get("PATH") {
        Some(EnvValue::Literal(path)) => path.as_str(),
        _ => local::DEFAULT_PATH,
    };
    let found = path
        .split(':')
        .filter(|folder| folder.starts_with('/'))
        .map(|folder| PathBuf::from(folder).join(program));
    found
        .into_iter()
        .find(|candidate| candidate.is_file())
        .map(|found| (found, args))
        .ok_or_else(|| format!("program {program} is in no folder of its PATH ({path})"))
}

/// Only what the entry names, a default PATH, and the node's own variables (SUP-30).
fn environment(
    hub: &Hub,
    declaration: &Declaration,
    tag: &LaunchTag,
) -> Result<Vec<(OsString, OsString)>, String> {
    let mut env: Vec<(OsString, OsString)> = Vec::new();
    if !declaration.env.contains_key("PATH") {
        env.push(("PATH".into(), local::DEFAULT_PATH.into()));
    }
    for (name, value) in &declaration.env {
        let value = match value {
            EnvValue::Literal(value) => value.clone(),
            EnvValue::File(path) => {
                let text = std::fs::read_to_string(path).map_err(|error| {
                    format!("the file of environment variable {name} could not be read: {error}")
                })?;
                text.strip_suffix('\n')
                    .map(ToOwned::to_owned)
                    .unwrap_or(text)
            }
        };
        env.push((name.into(), value.into()));
    }
    env.push((
        "TREEWARDEN_LAUNCH".into(),
        local::launch_text(hub.node, tag).0.into(),
    ));
    env.push(("TREEWARDEN_ENTRY".into(), tag.entry.as_str().into()));
    env.push(("TREEWARDEN_INSTANCE".into(), tag.instance.id.clone().into()));
    env.push((
        "TREEWARDEN_GENERATION".into(),
        tag.instance.generation.to_string().into(),
    ));
    Ok(env)
}

//! All it takes to start a launch's process, put together when it is started and not kept.

use std::ffi::OsString;
use std::fs::OpenOptions;
use std::io::Read as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use treewarden_model::declaration::{Declaration, EnvValue};
use treewarden_runtime::launcher::LaunchSpec;
use treewarden_runtime::local;
use treewarden_runtime::processes::wire::Limits;

use crate::cell::LaunchCell;
use crate::hub::Hub;

/// Most bytes read of a file that an environment variable names.
const SECRET_MAX: u64 = 64 * 1024;
/// How long reading those files may take: they may lie on a mount that hangs.
const SECRETS_TIMEOUT: Duration = Duration::from_secs(5);

/// Puts the specification together. The error is a sentence for the entry's status, without values.
pub(super) async fn of(hub: &Hub, cell: &LaunchCell) -> Result<LaunchSpec, String> {
    let declaration = &cell.declaration;
    let (program, args) = program(declaration)?;
    Ok(LaunchSpec {
        tag: cell.tag.clone(),
        program,
        args,
        env: environment(hub, cell).await?,
        working_dir: hub.data_dir.join("work").join(cell.tag.entry.as_str()),
        limits: Limits {
            open_files: declaration.limits.open_files,
            memory_bytes: declaration.limits.memory,
            processes: declaration.limits.processes,
            cpu_thousandths: declaration.limits.cpu,
        },
        uses: declaration.uses.clone(),
    })
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
    path.split(':')
        .filter(|folder| folder.starts_with('/'))
        .map(|folder| Path::new(folder).join(program))
        .find(|candidate| candidate.is_file())
        .map(|found| (found, args))
        .ok_or_else(|| format!("program {program} is in no folder of its PATH"))
}

/// Only what the entry names, a default PATH, and the node's own variables (SUP-30).
async fn environment(hub: &Hub, cell: &LaunchCell) -> Result<Vec<(OsString, OsString)>, String> {
    let (declared, tag) = (&cell.declaration.env, &cell.tag);
    let mut env: Vec<(OsString, OsString)> = Vec::with_capacity(declared.len() + 5);
    if !declared.contains_key("PATH") {
        env.push(("PATH".into(), local::DEFAULT_PATH.into()));
    }
    for (name, value) in declared {
        let value = match value {
            EnvValue::Literal(value) => value.clone(),
            EnvValue::File(path) => secret(name, path).await?,
        };
        env.push((name.into(), value.into()));
    }
    for (name, value) in [
        ("TREEWARDEN_LAUNCH", local::launch_text(hub.node, tag).0),
        ("TREEWARDEN_ENTRY", tag.entry.to_string()),
        ("TREEWARDEN_INSTANCE", tag.instance.id.clone()),
        ("TREEWARDEN_GENERATION", tag.instance.generation.to_string()),
    ] {
        env.push((name.into(), value.into()));
    }
    Ok(env)
}

/// A value from a file, away from the runtime's own threads. The file was looked at when the configuration was read, but may be another by
/// now: whatever it has become, it costs neither a thread of the node nor its memory.
async fn secret(name: &str, path: &Path) -> Result<String, String> {
    let path = path.to_owned();
    let reading = tokio::task::spawn_blocking(move || read(&path));
    let read = match tokio::time::timeout(SECRETS_TIMEOUT, reading).await {
        Ok(Ok(read)) => read,
        Ok(Err(_)) => Err("reading it failed".to_owned()),
        Err(_) => Err(format!(
            "reading it takes longer than {} seconds",
            SECRETS_TIMEOUT.as_secs()
        )),
    };
    read.map_err(|why| format!("the file of environment variable {name} can't be used: {why}"))
}

fn read(path: &Path) -> Result<String, String> {
    // Nonblocking: opening a FIFO would wait for a writer.
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(treewarden_runtime::system::NONBLOCK)
        .open(path)
        .map_err(|error| error.to_string())?;
    if !file.metadata().is_ok_and(|found| found.is_file()) {
        return Err("it is no regular file".to_owned());
    }
    let mut text = String::new();
    let read = file.take(SECRET_MAX + 1).read_to_string(&mut text);
    read.map_err(|error| error.to_string())?;
    if text.len() as u64 > SECRET_MAX {
        return Err(format!("it is larger than {SECRET_MAX} bytes"));
    }
    if text.contains('\0') {
        return Err("it holds a NUL byte".to_owned());
    }
    if text.ends_with('\n') {
        text.pop();
    }
    Ok(text)
}

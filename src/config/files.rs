//! What only the file system can say of a declaration: relative paths are resolved, programs and files looked for.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use treewarden_model::declaration::document::DEFAULT_PATH;
use treewarden_model::declaration::problem::{Fault, KeyPath, Problems, Shown};
use treewarden_model::declaration::{Declaration, EnvValue};

/// The folder that relative paths of a declaration are meant from: that of the file it stands in.
#[derive(Debug, Clone)]
pub(super) struct Folder(PathBuf);

impl Folder {
    /// The folder of a file, absolute.
    pub(super) fn of(file: &Path) -> io::Result<Self> {
        let absolute = std::path::absolute(file)?;
        Ok(Self(
            absolute
                .parent()
                .map_or_else(|| PathBuf::from("/"), Path::to_path_buf),
        ))
    }

    /// A path made absolute. Links are not followed: what a link points to may change between launches.
    pub(super) fn absolute(&self, path: impl AsRef<Path>) -> PathBuf {
        // Collecting the components drops `./`.
        self.0.join(path).components().collect()
    }
}

/// Resolves and checks what an entry names. `path` is the entry's. Whether the plugin's user may execute the program is
/// known at its launch; here at least somebody must be allowed to.
pub(super) fn check(
    declaration: &mut Declaration,
    folder: &Folder,
    path: &KeyPath,
    problems: &mut Problems,
) {
    check_program(declaration, folder, &path.key("command").index(0), problems);
    for (name, value) in &mut declaration.env {
        if let EnvValue::File(file) = value {
            // Shown as it is written: where that is on this machine is nothing for clients of the API.
            let written = std::mem::take(file);
            *file = folder.absolute(&written);
            if let Err(why) = regular(file) {
                let fault = Fault::Refused(format!(
                    "{} {why}; name the file that holds the value",
                    shown(&written)
                ));
                problems.report(path.key("env").key(name).key("file"), fault);
            }
        }
    }
}

fn check_program(
    declaration: &mut Declaration,
    folder: &Folder,
    at: &KeyPath,
    problems: &mut Problems,
) {
    let search = match declaration.env.get("PATH") {
        None => DEFAULT_PATH.to_owned(),
        Some(EnvValue::Literal(search)) => search.clone(),
        // Known at the launch only, and then looked for.
        Some(EnvValue::File(_))
            if declaration
                .command
                .first()
                .is_some_and(|program| !program.contains('/')) =>
        {
            return;
        }
        Some(EnvValue::File(_)) => String::new(),
    };
    let Some(program) = declaration.command.first_mut() else {
        return;
    };
    if program.contains('/') {
        let file = folder.absolute(&*program);
        if let Err(why) = executable(&file) {
            let written = Path::new(&*program);
            let fault = Fault::Refused(format!(
                "{} {why}; name the plugin's program",
                shown(written)
            ));
            problems.report(at.clone(), fault);
        }
        match file.into_os_string().into_string() {
            Ok(text) => *program = text,
            Err(_) => problems.report(
                at.clone(),
                Fault::Refused("lies in a folder whose name is no UTF-8; move it".to_owned()),
            ),
        }
        return;
    }
    // Relative places in PATH would be meant from the plugin's working directory, which does not exist yet.
    let found = std::env::split_paths(&search)
        .filter(|place| place.is_absolute())
        .any(|place| executable(&place.join(&*program)).is_ok());
    if !found {
        problems.report(
            at.clone(),
            Fault::Refused(format!(
                "no program {} in the plugin's PATH; write its path, or set PATH in env",
                Shown(program)
            )),
        );
    }
}

fn shown(path: &Path) -> String {
    Shown(&path.to_string_lossy()).to_string()
}

fn regular(path: &Path) -> Result<fs::Metadata, String> {
    match fs::metadata(path) {
        Ok(metadata) if metadata.is_file() => Ok(metadata),
        Ok(_) => Err("is not a regular file".to_owned()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err("does not exist".to_owned()),
        Err(error) => Err(format!("cannot be looked at ({error})")),
    }
}

fn executable(path: &Path) -> Result<(), String> {
    match regular(path)?.permissions().mode() & 0o111 {
        0 => Err("is not executable (chmod +x)".to_owned()),
        _ => Ok(()),
    }
}

//! The first token, for the user `admin` (interfaces.md §1).

use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Read as _, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;

use anyhow::{Context as _, bail};
use sha2::{Digest as _, Sha256};
use treewarden_model::time::Clock as _;
use treewarden_runtime::clock::SystemClock;
use treewarden_runtime::system::NOFOLLOW;
use treewarden_storage::{Operations, StoreHandle, Token, TokenHash, TokenId};
use uuid::Uuid;

const FILE_NAME: &str = "admin.token";
/// Most bytes read of the file.
const TOKEN_MAX: u64 = 4096;

/// Sees that there is a token file, and that the store knows its token. The row is durable before the file is there, so a token that can be
/// read works; a crash between the two leaves a row whose token nobody has. A token is only ever made here: what somebody else put into the
/// file becomes nobody's right.
pub(super) async fn ensure(store: &StoreHandle, data_dir: &Path) -> anyhow::Result<()> {
    let path = data_dir.join(FILE_NAME);
    if let Some(present) = read(&path)? {
        let hash = TokenHash(Sha256::digest(present.as_bytes()).into());
        if store.token_by_hash(&hash)?.is_none() {
            tracing::warn!(path = %path.display(), "This token file holds no token of this node; remove it to get a new one at the next start");
        }
        return Ok(());
    }
    let text = new_token();
    let token = Token {
        id: TokenId(Uuid::new_v4()),
        hash: TokenHash(Sha256::digest(text.as_bytes()).into()),
        label: FILE_NAME.to_owned(),
        user: "admin".to_owned(),
        operations: Operations::All,
        created: SystemClock::new().wall(),
        expires: None,
    };
    store.put_token(token).await?;
    write(data_dir, &path, &text).with_context(|| format!("could not write {}", path.display()))?;
    tracing::info!(path = %path.display(), "A token for the user admin was written");
    Ok(())
}

/// The token in the file; `None`: there is no file. One that others may read or write, or that is none of ours, is refused.
fn read(path: &Path) -> anyhow::Result<Option<String>> {
    let opened = OpenOptions::new()
        .read(true)
        .custom_flags(NOFOLLOW)
        .open(path);
    let file = match opened {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => {
            return Err(error).with_context(|| format!("could not read {}", path.display()));
        }
    };
    let found = file.metadata()?;
    if !found.is_file() || found.permissions().mode() & 0o077 != 0 {
        bail!(
            "{} must be a plain file that only the node's user may read (mode 0600): whoever reads it is the administrator",
            path.display()
        );
    }
    let mut text = String::new();
    file.take(TOKEN_MAX).read_to_string(&mut text)?;
    Ok(Some(text.trim().to_owned()))
}

fn new_token() -> String {
    // Two version 4 UUIDs: 244 random bits from the system's generator.
    format!("tw_{}{}", Uuid::new_v4().simple(), Uuid::new_v4().simple())
}

fn write(data_dir: &Path, path: &Path, text: &str) -> std::io::Result<()> {
    let temporary = data_dir.join(".admin.token.new");
    // A new file, whatever lay there: neither a link nor another's mode is taken over.
    match fs::remove_file(&temporary) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&temporary)?;
    writeln!(file, "{text}")?;
    file.sync_all()?;
    fs::rename(&temporary, path)?;
    File::open(data_dir)?.sync_all()
}

//! The first token, for the user `admin` (interfaces.md §1).

use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use anyhow::Context as _;
use sha2::{Digest as _, Sha256};
use treewarden_model::time::Clock as _;
use treewarden_runtime::clock::SystemClock;
use treewarden_storage::{Operations, StoreHandle, Token, TokenHash, TokenId};
use uuid::Uuid;

const FILE_NAME: &str = "admin.token";

/// Sees that the file holds a token that the store knows. The row is durable before the file is there, so a token that can be read works;
/// a crash between the two leaves a row whose token nobody has.
pub(super) async fn ensure(store: &StoreHandle, data_dir: &Path) -> anyhow::Result<()> {
    let path = data_dir.join(FILE_NAME);
    let present = match fs::read_to_string(&path) {
        Ok(text) => Some(text.trim().to_owned()).filter(|text| !text.is_empty()),
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        Err(error) => {
            return Err(error).with_context(|| format!("could not read {}", path.display()));
        }
    };
    let text = present.clone().unwrap_or_else(new_token);
    let hash = TokenHash(Sha256::digest(text.as_bytes()).into());
    if store.token_by_hash(&hash)?.is_none() {
        let token = Token {
            id: TokenId(Uuid::new_v4()),
            hash,
            label: "admin.token".to_owned(),
            user: "admin".to_owned(),
            operations: Operations::All,
            created: SystemClock::new().wall(),
            expires: None,
        };
        store.put_token(token).await?;
    }
    if present.is_none() {
        write(data_dir, &path, &text)
            .with_context(|| format!("could not write {}", path.display()))?;
        tracing::info!(path = %path.display(), "A token for the user admin was written");
    }
    Ok(())
}

fn new_token() -> String {
    // Two version 4 UUIDs: 244 random bits from the system's generator.
    format!("tw_{}{}", Uuid::new_v4().simple(), Uuid::new_v4().simple())
}

fn write(data_dir: &Path, path: &Path, text: &str) -> std::io::Result<()> {
    let temporary = data_dir.join(".admin.token.new");
    let mut file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(&temporary)?;
    writeln!(file, "{text}")?;
    file.sync_all()?;
    fs::rename(&temporary, path)?;
    File::open(data_dir)?.sync_all()
}

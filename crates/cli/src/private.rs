//! Files and directories that only their owner may use. The one place that knows file modes.

use std::{
    fs, io,
    io::Write,
    path::{Path, PathBuf},
};

/// Makes the directory and its parents for the owner only. One that is there stays as it is.
pub(crate) fn create_dir(path: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

/// Writes a whole file for the owner only: readers see the old content or the new, also after a crash.
pub(crate) fn write(path: &Path, content: &str) -> io::Result<()> {
    let dir = match path.parent() {
        Some(dir) if !dir.as_os_str().is_empty() => dir.to_owned(),
        Some(_) | None => PathBuf::from("."),
    };
    // Temporary files are made with mode 0600 and keep it when they are renamed.
    let mut file = tempfile::NamedTempFile::new_in(&dir)?;
    file.write_all(content.as_bytes())?;
    file.as_file().sync_all()?;
    file.persist(path)?;
    // Without this the new name may be lost with the power.
    #[cfg(unix)]
    fs::File::open(&dir)?.sync_all()?;
    Ok(())
}

/// Makes an empty file for the owner only. One that is there stays as it is.
pub(crate) fn create_file(path: &Path) -> io::Result<()> {
    let mut options = fs::OpenOptions::new();
    options.write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path).map(drop)
}

/// The permission bits that others have, if any; `None` where the system has no modes.
pub(crate) fn open_to_others(path: &Path) -> io::Result<Option<u32>> {
    let metadata = fs::metadata(path)?;
    #[cfg(unix)]
    {
        let mode = std::os::unix::fs::MetadataExt::mode(&metadata) & 0o777;
        Ok((mode & 0o077 != 0).then_some(mode))
    }
    #[cfg(not(unix))]
    {
        let _ = metadata;
        Ok(None)
    }
}

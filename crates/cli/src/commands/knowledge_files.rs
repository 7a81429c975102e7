//! Which files `cardwire knowledge add` takes in, and what they are called.

use crate::failure::{Code, Failure};
use cardwire_model::limits;
use std::{
    collections::HashSet,
    fs,
    io::{self, Read},
    path::{Component, Path, PathBuf},
};

/// What was found.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// In the order of the command line, and by name in a directory; each once.
    pub(super) files: Vec<File>,
    /// What is left out, and why.
    pub(super) skipped: Vec<(String, &'static str)>,
}

/// A file that may be a document.
#[derive(Debug)]
pub(super) struct File {
    /// Its path as given.
    pub(super) source_id: String,
    path: PathBuf,
}

/// Looks for files. A path that is not there is a mistake; what is hidden in a directory is meant to be.
pub(super) fn find(paths: &[PathBuf]) -> Result<Found, Failure> {
    let (mut found, mut names) = (Found::default(), HashSet::new());
    for path in paths {
        let metadata = fs::metadata(path).map_err(|error| cannot_read(path, &error))?;
        if metadata.is_dir() {
            found.walk(path, &mut names)?;
        } else if metadata.is_file() {
            found.take(path, &mut names);
        } else {
            found.skipped.push((path.display().to_string(), "it is no file"));
        }
    }
    Ok(found)
}

impl Found {
    fn walk(&mut self, directory: &Path, names: &mut HashSet<String>) -> Result<(), Failure> {
        let entries = fs::read_dir(directory).and_then(Iterator::collect::<io::Result<Vec<_>>>);
        let mut entries = entries.map_err(|error| cannot_read(directory, &error))?;
        entries.sort_by_key(fs::DirEntry::file_name);
        for entry in entries {
            let path = entry.path();
            let kind = entry.file_type().map_err(|error| cannot_read(&path, &error))?;
            if entry.file_name().as_encoded_bytes().starts_with(b".") {
                self.skipped.push((path.display().to_string(), "it is hidden"));
            } else if kind.is_dir() {
                self.walk(&path, names)?;
            } else if kind.is_file() {
                self.take(&path, names);
            } else {
                // A link may lead back here, or to where nobody wanted to go.
                self.skipped.push((path.display().to_string(), "it is no file"));
            }
        }
        Ok(())
    }

    fn take(&mut self, path: &Path, names: &mut HashSet<String>) {
        // `./docs/a.md` and `docs/a.md` are one document.
        let plain: PathBuf = path.components().filter(|part| *part != Component::CurDir).collect();
        match plain.to_str() {
            None => self.skipped.push((path.display().to_string(), "its name is not UTF-8")),
            Some(name) if names.insert(name.to_owned()) => {
                self.files.push(File { source_id: name.to_owned(), path: path.to_owned() });
            }
            Some(_) => {}
        }
    }
}

impl File {
    /// Its text; or why it is no document.
    pub(super) fn read(&self) -> Result<Result<String, &'static str>, Failure> {
        let mut bytes = vec![];
        let most = limits::BODY_BYTES as u64;
        let read = fs::File::open(&self.path).and_then(|file| file.take(most + 1).read_to_end(&mut bytes));
        if read.map_err(|error| cannot_read(&self.path, &error))? as u64 > most {
            return Ok(Err("it is larger than any request may be"));
        }
        let text = String::from_utf8(bytes).ok().filter(|text| !text.contains('\0'));
        Ok(text.map(without_mark).ok_or("it is not UTF-8 text"))
    }
}

/// Some editors mark UTF-8 at the start; nobody would find that word again.
fn without_mark(text: String) -> String {
    match text.strip_prefix('\u{feff}') {
        Some(rest) => rest.to_owned(),
        None => text,
    }
}

fn cannot_read(path: &Path, error: &io::Error) -> Failure {
    let failure = Failure::file("read", path, error);
    if error.kind() == io::ErrorKind::NotFound {
        Failure { code: Code::NotFound, ..failure }
    } else {
        failure
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_is_walked_by_name_without_what_is_hidden_or_linked() {
        let root = tempfile::tempdir().unwrap();
        let place = |name: &str| root.path().join(name);
        fs::create_dir_all(place("docs/deep")).unwrap();
        fs::create_dir(place("docs/.git")).unwrap();
        for name in ["docs/b.md", "docs/deep/a.txt", "docs/.git/config", "docs/a.md"] {
            fs::write(place(name), "x").unwrap();
        }
        std::os::unix::fs::symlink(place("docs"), place("docs/again")).unwrap();
        let found = find(&[place("docs"), place("docs/./b.md")]).unwrap();
        let below =
            |path: &str| path.strip_prefix(&format!("{}/", root.path().display())).unwrap().to_owned();
        let names: Vec<_> = found.files.iter().map(|file| below(&file.source_id)).collect();
        assert_eq!(names, ["docs/a.md", "docs/b.md", "docs/deep/a.txt"]);
        let skipped: Vec<_> = found.skipped.iter().map(|(name, why)| (below(name), *why)).collect();
        let expected = [("docs/.git", "it is hidden"), ("docs/again", "it is no file")];
        assert_eq!(skipped, expected.map(|(name, why)| (name.to_owned(), why)));
        assert_eq!(find(&[place("absent")]).unwrap_err().code, Code::NotFound);
    }

    #[test]
    fn only_text_is_a_document() {
        let root = tempfile::tempdir().unwrap();
        let read = |bytes: &[u8]| {
            let path = root.path().join("x");
            fs::write(&path, bytes).unwrap();
            find(&[path]).unwrap().files[0].read().unwrap()
        };
        assert_eq!(read("\u{feff}文档".as_bytes()), Ok("文档".to_owned()));
        assert_eq!(read(&[0xff, 0xfe]), Err("it is not UTF-8 text"));
        assert_eq!(read(b"a\0b"), Err("it is not UTF-8 text"));
        assert!(read(&vec![b'x'; limits::BODY_BYTES + 1]).is_err());
    }
}

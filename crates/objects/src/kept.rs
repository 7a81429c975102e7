//! Objects for one piece of work. Whoever looks at one file after another of a directory is answered from its listing, a
//! page at a time: one request for a thousand files, and no more memory for more files.
//!
//! A store that fails once is not asked again: thousands of files, each waited for, would take days to say the same.

use super::{ObjectFiles, PAGE, key, name_in, stat};
use cardwire_handoff::{FileError, Files, SafePath, Stat, Written};
use futures_util::StreamExt;
use std::{
    collections::HashMap,
    io,
    sync::{Mutex, MutexGuard, PoisonError},
};

/// Directories of which a page is kept. An iteration has six.
const DIRECTORIES: usize = 16;
/// A page that answers fewer looks than this was not worth its request: files are not looked at in their order.
const WORTH: u32 = 4;

pub(super) struct Kept<'a> {
    files: &'a ObjectFiles,
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    pages: HashMap<String, Page>,
    /// What the store said when it failed.
    failed: Option<String>,
}

/// What is in a directory between two names.
#[derive(Debug, Default)]
struct Page {
    /// Not the name itself, but all after it; none while nothing was listed.
    after: Option<String>,
    /// The last name that was listed; none if there are no more.
    until: Option<String>,
    stats: HashMap<String, Stat>,
    /// Looks that it has answered.
    answered: u32,
    /// No more pages of this directory: they do not help, or cannot be had.
    useless: bool,
}

impl Page {
    fn covers(&self, name: &str) -> bool {
        self.after.as_deref().is_some_and(|after| after < name)
            && self.until.as_deref().is_none_or(|until| name <= until)
    }

    fn useless() -> Self {
        Self { useless: true, ..Self::default() }
    }
}

impl<'a> Kept<'a> {
    pub(super) fn new(files: &'a ObjectFiles) -> Self {
        Self { files, known: Mutex::default() }
    }

    fn known(&self) -> Result<MutexGuard<'_, Known>, FileError> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        match &known.failed {
            Some(said) => Err(FileError::Io(io::Error::other(said.clone()))),
            None => Ok(known),
        }
    }

    /// Remembers a failure of the store.
    fn noted<T>(&self, outcome: Result<T, FileError>) -> Result<T, FileError> {
        if let Err(FileError::Io(error)) = &outcome {
            let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
            known.failed.get_or_insert_with(|| error.to_string());
        }
        outcome
    }

    /// What comes after a file in its directory. A store that does not give names in their order gives no page, and a
    /// directory with keys that are no paths has none.
    fn page(&self, dir: &str, path: &SafePath) -> Result<Page, FileError> {
        let prefix = SafePath::parse(dir).map_err(|why| FileError::Unsafe { why: why.to_string() })?;
        let (prefix, offset, name) = (key(&prefix)?, key(path)?, path.file_name());
        let listed = self.files.store.list_with_offset(Some(&prefix), &offset).take(PAGE);
        let listed: Vec<_> = self.files.runtime.block_on(listed.collect());
        let is_last = listed.len() < PAGE;
        let mut page = Page { after: Some(name.to_owned()), ..Page::default() };
        let mut last = name.to_owned();
        for object in listed {
            let Ok(object) = object else { return Ok(Page::useless()) };
            // Of what is further below only the place in the order counts.
            let below = object.location.as_ref().strip_prefix(prefix.as_ref()).unwrap_or_default();
            let below = below.strip_prefix('/').unwrap_or_default();
            if below <= last.as_str() {
                return Ok(Page::useless());
            }
            last = below.to_owned();
            if let Some(name) = name_in(&prefix, &object.location) {
                page.stats.insert(name, stat(&object));
            }
        }
        page.until = (!is_last).then_some(last);
        Ok(page)
    }

    /// The answer of a page, if one has it.
    fn listed(&self, path: &SafePath) -> Result<Option<Stat>, FileError> {
        let (Some(dir), name) = path.split() else { return Ok(None) };
        let mut known = self.known()?;
        let pages = &mut known.pages;
        match pages.get_mut(dir) {
            Some(page) if page.covers(name) => {
                page.answered += 1;
                let found = page.stats.get(name).copied();
                return found.map(Some).ok_or(FileError::Missing);
            }
            Some(page) if page.useless => {}
            Some(page) if page.after.is_some() && page.answered < WORTH => *page = Page::useless(),
            // The second look at a directory: others will follow.
            Some(page) => *page = self.page(dir, path)?,
            None => {
                if pages.len() >= DIRECTORIES {
                    pages.clear();
                }
                pages.insert(dir.to_owned(), Page::default());
            }
        }
        Ok(None)
    }
}

impl Files for Kept<'_> {
    fn stat(&self, path: &SafePath) -> Result<Stat, FileError> {
        match self.listed(path)? {
            Some(stat) => Ok(stat),
            None => self.noted(self.files.stat(path)),
        }
    }

    fn read(&self, path: &SafePath, max_bytes: u64) -> Result<Vec<u8>, FileError> {
        drop(self.known()?);
        self.noted(self.files.read(path, max_bytes))
    }

    fn list(
        &self,
        dir: &SafePath,
        each: &mut dyn FnMut(&str) -> Result<(), FileError>,
    ) -> Result<(), FileError> {
        drop(self.known()?);
        self.noted(self.files.list(dir, each))
    }

    fn create(&self, path: &SafePath, bytes: &[u8]) -> Result<Written, FileError> {
        self.files.create(path, bytes)
    }

    fn replace(&self, path: &SafePath, bytes: &[u8]) -> Result<(), FileError> {
        self.files.replace(path, bytes)
    }

    fn kept(&self) -> Box<dyn Files + '_> {
        Box::new(self)
    }
}

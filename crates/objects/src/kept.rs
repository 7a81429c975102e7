//! Objects for one piece of work. Whoever looks at one file after another of a directory is answered from its listing, a
//! page at a time: one request for a thousand files, and no more memory for more files.

use super::{ObjectFiles, PAGE, error, key, name_in};
use cardwire_handoff::{FileError, Files, SafePath, Stat, Written};
use futures_util::StreamExt;
use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};

/// Directories of which a page is kept. An iteration has six.
const DIRECTORIES: usize = 16;

pub(super) struct Kept<'a> {
    files: &'a ObjectFiles,
    pages: Mutex<HashMap<String, Page>>,
}

/// What is in a directory between two names.
#[derive(Debug, Default)]
struct Page {
    /// Not the name itself, but all after it; none while nothing was listed.
    after: Option<String>,
    /// The last name that was listed; none if there are no more.
    until: Option<String>,
    sizes: HashMap<String, u64>,
}

impl Page {
    fn covers(&self, name: &str) -> bool {
        self.after.as_deref().is_some_and(|after| after < name)
            && self.until.as_deref().is_none_or(|until| name <= until)
    }
}

impl<'a> Kept<'a> {
    pub(super) fn new(files: &'a ObjectFiles) -> Self {
        Self { files, pages: Mutex::default() }
    }

    /// What comes after a name. A store that does not give names in their order gives no page.
    fn page(&self, dir: &str, name: &str) -> Result<Page, FileError> {
        let prefix = key(&SafePath::parse(dir).map_err(|why| FileError::Unsafe { why: why.to_string() })?)?;
        let offset = prefix.clone().join(name);
        let listed = self.files.store.list_with_offset(Some(&prefix), &offset).take(PAGE);
        let listed: Vec<_> = self.files.runtime.block_on(listed.collect());
        let is_last = listed.len() < PAGE;
        let mut page = Page { after: Some(name.to_owned()), until: None, sizes: HashMap::new() };
        let mut last = name.to_owned();
        for object in listed {
            let object = object.map_err(error)?;
            // Of what is further below only the place in the order counts.
            let below = object.location.as_ref().strip_prefix(prefix.as_ref()).unwrap_or_default();
            let below = below.strip_prefix('/').unwrap_or_default();
            if below <= last.as_str() {
                return Ok(Page::default());
            }
            last = below.to_owned();
            if let Some(name) = name_in(&prefix, &object.location) {
                page.sizes.insert(name, object.size);
            }
        }
        page.until = (!is_last).then_some(last);
        Ok(page)
    }
}

impl Files for Kept<'_> {
    fn stat(&self, path: &SafePath) -> Result<Stat, FileError> {
        let (Some(dir), name) = path.split() else { return self.files.stat(path) };
        let mut pages = self.pages.lock().unwrap_or_else(PoisonError::into_inner);
        match pages.get(dir) {
            Some(page) if page.covers(name) => {
                return page.sizes.get(name).map(|bytes| Stat { bytes: *bytes }).ok_or(FileError::Missing);
            }
            // The second look at a directory: others will follow.
            Some(_) => {
                let page = self.page(dir, name)?;
                pages.insert(dir.to_owned(), page);
            }
            None => {
                if pages.len() >= DIRECTORIES {
                    pages.clear();
                }
                pages.insert(dir.to_owned(), Page::default());
            }
        }
        self.files.stat(path)
    }

    fn read(&self, path: &SafePath, max_bytes: u64) -> Result<Vec<u8>, FileError> {
        self.files.read(path, max_bytes)
    }

    fn list(
        &self,
        dir: &SafePath,
        each: &mut dyn FnMut(&str) -> Result<(), FileError>,
    ) -> Result<(), FileError> {
        self.files.list(dir, each)
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

//! Lists: page by page, each page with a deadline of its own.

use std::time::Instant;

use futures_util::stream::BoxStream;
use futures_util::{Stream, StreamExt, TryStreamExt, stream};
use object_store::path::Path;
use object_store::{ObjectMeta, Result as StoreResult};
use sessionlog_core::{Error, Result};

use crate::objects::{Listed, Objects, Tried};

/// Objects that are taken from a list at a time: at most a page of the store's.
const PAGE: usize = 1000;
/// Bytes that a page moves, at most.
const BYTES: usize = 1 << 20;

/// A list in the order of its keys, which goes on behind what it has given.
struct Listing<'a> {
    objects: &'a Objects,
    folder: Option<Path>,
    open: Option<Pages>,
    last: Option<Path>,
    left: usize,
}

type Pages = BoxStream<'static, Vec<StoreResult<ObjectMeta>>>;

impl Objects {
    /// All objects below a folder, in no order. Cost: 1 LIST for each 1,000.
    pub(crate) async fn list(&self, folder: Option<&Path>) -> Result<Vec<Listed>> {
        self.first(folder, usize::MAX).await
    }

    /// The objects that the store lists first, at most so many. No page is asked for that is not
    /// needed.
    pub(crate) async fn first(&self, folder: Option<&Path>, most: usize) -> Result<Vec<Listed>> {
        if self.options.lists_in_order == Some(true) {
            return self.in_order(folder.cloned(), most).try_concat().await;
        }
        // Where it broke off says nothing of what is missing, so it begins anew.
        self.again(|| async {
            let mut open = self.open(folder, None, most);
            let mut all = Vec::new();
            while let Some(page) = self.page(folder, &mut open).await? {
                for object in page {
                    all.push(self.answer("list", &name(folder), Some(object))?.into());
                }
            }
            Ok(all)
        })
        .await
    }

    /// As [`Self::first`], page by page, of a store that lists in the order of its keys. A page
    /// that fails is asked for again.
    pub(crate) fn in_order(
        &self,
        folder: Option<Path>,
        most: usize,
    ) -> impl Stream<Item = Result<Vec<Listed>>> + Send + '_ {
        let listing = Listing {
            objects: self,
            folder,
            open: None,
            last: None,
            left: most,
        };
        stream::try_unfold(listing, |mut listing| async move {
            let page = listing.next().await?;
            Ok(page.map(|page| (page, listing)))
        })
    }

    /// All objects below a folder: page by page where the store lists in the order of their keys,
    /// else together.
    pub(crate) fn pages(&self, folder: &Path) -> BoxStream<'_, Result<Vec<Listed>>> {
        let folder = folder.clone();
        if self.options.lists_in_order == Some(true) {
            return self.in_order(Some(folder), usize::MAX).boxed();
        }
        stream::once(async move { self.list(Some(&folder)).await }).boxed()
    }

    /// The names of the folders in a folder, in their order. Cost: 1 LIST for each 1,000.
    pub(crate) async fn folders(&self, folder: &Path) -> Result<Vec<Path>> {
        let within = self.again(|| async {
            let list = self.store.list_with_delimiter(Some(folder));
            self.answer("list", folder, self.within(64 * BYTES, list).await)
        });
        let mut all = within.await?.common_prefixes;
        all.sort_unstable();
        Ok(all)
    }

    fn open(&self, folder: Option<&Path>, behind: Option<&Path>, most: usize) -> Pages {
        let list = match behind {
            Some(behind) => self.store.list_with_offset(folder, behind),
            None => self.store.list(folder),
        };
        list.take(most).ready_chunks(PAGE).boxed()
    }

    /// What is there of the next page.
    async fn page(
        &self,
        folder: Option<&Path>,
        open: &mut Pages,
    ) -> std::result::Result<Option<Vec<StoreResult<ObjectMeta>>>, Tried> {
        let page = self.within(BYTES, open.next()).await;
        self.answer("list", &name(folder), page.map(Ok))
    }
}

impl Listing<'_> {
    async fn next(&mut self) -> Result<Option<Vec<Listed>>> {
        let (mut tries, begun) = (0, Instant::now());
        loop {
            tries += 1;
            let (objects, folder) = (self.objects, self.folder.as_ref());
            let mut open = self
                .open
                .take()
                .unwrap_or_else(|| objects.open(folder, self.last.as_ref(), self.left));
            let mut whole: Vec<Listed> = Vec::new();
            let broke = match objects.page(folder, &mut open).await {
                Ok(None) => return Ok(None),
                Ok(Some(page)) => page.into_iter().find_map(|object| {
                    let object = objects.answer("list", &name(folder), Some(object));
                    object.map(|object| whole.push(object.into())).err()
                }),
                Err(late) => Some(late),
            };
            if broke.is_none() {
                self.open = Some(open);
            }
            if let Some(last) = whole.last() {
                let last = last.key.clone();
                let before = self
                    .last
                    .iter()
                    .chain(whole.iter().map(|object| &object.key));
                if !before.is_sorted_by(|a, b| a < b) {
                    return Err(disorder());
                }
                self.last = Some(last);
                self.left = self.left.saturating_sub(whole.len());
                return Ok(Some(whole));
            }
            match broke {
                Some(tried) if tried.last || objects.is_enough(tries, begun) => {
                    return Err(tried.error);
                }
                _ => objects.pause(tries).await,
            }
        }
    }
}

/// What rests on the order of a list must not go on without it.
fn disorder() -> Error {
    Error::unsupported(
        "the store does not list objects in the order of their keys: open it without \
         `Options::lists_in_order`",
    )
}

fn name(folder: Option<&Path>) -> Path {
    folder.cloned().unwrap_or_default()
}

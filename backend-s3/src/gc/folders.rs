//! The folders of all sessions, one after another in the order of their names.

use futures_util::stream::{self, BoxStream};
use futures_util::{StreamExt, TryStreamExt};
use object_store::path::Path;
use sessionlog_core::Result;

use super::AT_ONCE;
use super::folder::Folder;
use crate::Bucket;
use crate::key::Named;
use crate::objects::Listed;

/// Folders as a list in order comes to them.
struct Folders<'a> {
    bucket: &'a Bucket,
    pages: BoxStream<'a, Result<Vec<Listed>>>,
    page: std::vec::IntoIter<Listed>,
    /// What was seen of the folder that the list is in.
    open: Folder,
}

impl Bucket {
    /// All folders of sessions. Where lists are in order no folder is listed for itself.
    pub(super) fn session_folders(&self) -> BoxStream<'_, Result<Folder>> {
        let objects = &self.env.objects;
        if objects.options.lists_in_order == Some(true) {
            let folders = Folders {
                bucket: self,
                pages: objects.pages(&self.env.keys.sessions()),
                page: Vec::new().into_iter(),
                open: Folder::default(),
            };
            return stream::try_unfold(folders, Folders::next).boxed();
        }
        let names = async move {
            let all = objects.folders(&self.env.keys.sessions()).await?;
            let all = all
                .into_iter()
                .map(move |name| Ok(self.session_folder(name)));
            Ok(stream::iter(all))
        };
        stream::once(names)
            .try_flatten()
            .try_buffered(AT_ONCE)
            .try_filter(|folder| std::future::ready(!folder.is_empty()))
            .boxed()
    }

    async fn session_folder(&self, name: Path) -> Result<Folder> {
        let mut folder = Folder::default();
        for object in self.env.objects.list(Some(&name)).await? {
            self.add(&mut folder, object);
        }
        Ok(folder)
    }

    /// Puts an object into the folder that it is in. Gives the one that was open before, if it is
    /// another.
    fn add(&self, open: &mut Folder, object: Listed) -> Option<Folder> {
        let Some(Named::Of(dir, part)) = self.env.keys.named(&object.key) else {
            return None;
        };
        let before = (dir != open.dir).then(|| std::mem::replace(open, Folder::of(dir)));
        open.add(part, object);
        before.filter(|folder| !folder.is_empty())
    }
}

impl Folders<'_> {
    /// The next folder, and those behind it.
    async fn next(mut self) -> Result<Option<(Folder, Self)>> {
        loop {
            for object in self.page.by_ref() {
                if let Some(whole) = self.bucket.add(&mut self.open, object) {
                    return Ok(Some((whole, self)));
                }
            }
            match self.pages.try_next().await? {
                Some(page) => self.page = page.into_iter(),
                None => {
                    let last = std::mem::take(&mut self.open);
                    return Ok((!last.is_empty()).then_some((last, self)));
                }
            }
        }
    }
}

//! The log, and how it is opened.

use std::collections::HashMap;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex};

use futures_util::{StreamExt, TryStreamExt};
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt, PutMode};
use sessionlog_core::*;

use super::heads::unavailable;
use super::seat::Cell;

/// What is wrong with a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flaw {
    None,
    /// A batch whose answer was lost, and that finds its own head there, is appended once more.
    DoublesRetries,
    /// After an error it looks whether its object is there; if not, it says that nothing happened.
    OnlyReadsBack,
    /// A head that exists already is taken for somebody else's, without a look.
    TrustsConflicts,
    /// It takes over without a fence.
    WritesNoFence,
    /// It does not list again behind its fence.
    ListsOnce,
    /// Old fences are deleted with old heads.
    CollectsFences,
    /// A delete leaves nothing, not even fences.
    DeletesFences,
    /// After an unknown outcome the same number is used for other bytes.
    ReusesSlots,
    /// What a bulk delete left is forgotten.
    IgnoresPartialDeletes,
    /// A list that broke off is taken for the whole.
    BelievesTruncatedLists,
    /// A body that broke off is taken for the whole.
    BelievesBrokenBodies,
    /// It tries for ever.
    NeverGivesUp,
    /// An unknown outcome is acknowledged.
    AcknowledgesUnknown,
    /// An unknown outcome of a blob is acknowledged.
    AcknowledgesBlobs,
    /// What it is about to write counts as written, also if its writing is given up.
    BelievesBeforePut,
    /// A snapshot's token is compared with what was known last.
    SavesByMemory,
    /// A lease is given back by an object of one name, which the next grant deletes.
    FreesByName,
    /// Opening does not look whether conditions hold.
    ProbesNoConditions,
    /// Opening does not look whether lists are up to date.
    ProbesNoLists,
}

/// An object log.
#[derive(Clone)]
pub(crate) struct HeadLog {
    pub(super) store: Arc<dyn ObjectStore>,
    pub(super) root: Path,
    pub(super) flaw: Flaw,
    pub(super) writer: String,
    pub(super) commits: Arc<AtomicU64>,
    pub(super) sessions: Arc<Mutex<HashMap<SessionId, Cell>>>,
}

impl HeadLog {
    /// Opens a log, and refuses a store that is not fit for one.
    pub(crate) async fn open(store: Arc<dyn ObjectStore>, root: &str, flaw: Flaw) -> Result<Self> {
        let log = Self {
            store,
            root: root.into(),
            flaw,
            writer: EventId::generate().to_string(),
            commits: Arc::default(),
            sessions: Arc::default(),
        };
        log.probe().await?;
        Ok(log)
    }

    async fn probe(&self) -> Result<()> {
        let folder = self.root.clone().join("probe");
        let key = folder.clone().join(self.writer.as_str());
        let create = || {
            self.store
                .put_opts(&key, "probe".into(), PutMode::Create.into())
        };
        create().await.map_err(unavailable)?;
        let second = create().await;
        let listed = self.store.list(Some(&folder)).map_ok(|meta| meta.location);
        let listed: Vec<_> = listed.try_collect().await.map_err(unavailable)?;
        self.store.delete(&key).await.map_err(unavailable)?;
        let conditional = matches!(second, Err(object_store::Error::AlreadyExists { .. }));
        if !conditional && self.flaw != Flaw::ProbesNoConditions {
            return Err(Error::unsupported("the store ignores conditions"));
        }
        if !listed.contains(&key) && self.flaw != Flaw::ProbesNoLists {
            return Err(Error::unsupported("the store's lists lag"));
        }
        Ok(())
    }

    /// The names of all sessions, whether they are there or deleted.
    pub(super) async fn names(&self) -> Result<Vec<SessionId>> {
        let listed = self.store.list(Some(&self.root.clone().join("s")));
        let keys: Vec<Path> = match self.flaw {
            Flaw::BelievesTruncatedLists => {
                let shown: Vec<_> = listed.collect().await;
                shown
                    .into_iter()
                    .flatten()
                    .map(|meta| meta.location)
                    .collect()
            }
            _ => {
                let whole = listed.map_ok(|meta| meta.location).try_collect();
                whole.await.map_err(unavailable)?
            }
        };
        let depth = self.root.parts().count() + 1;
        let mut names: Vec<_> = keys
            .iter()
            .filter_map(|k| Some(k.parts().nth(depth)?.as_ref().to_owned()))
            .collect();
        names.dedup();
        let decode = |name: &String| {
            let pairs = name.as_bytes().chunks(2);
            let digits =
                pairs.map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok());
            let bytes: Option<Vec<u8>> = digits.collect();
            SessionId::new(&String::from_utf8(bytes?).ok()?).ok()
        };
        Ok(names.iter().filter_map(decode).collect())
    }
}

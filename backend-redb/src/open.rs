//! One open handle on the file of a store.

use std::fs::File;
use std::sync::Arc;

use redb::{Database, ReadOnlyDatabase, ReadTransaction, ReadableDatabase, WriteTransaction};
use sessionlog_core::{Error, Result};
use sessionlog_local::files::Identity;

use crate::failure::{failed, unpanicked};
use crate::file::Header;

/// How redb has the file open.
pub(crate) enum Handle {
    /// Reads, and follows the commits of other processes.
    Reader(ReadOnlyDatabase),
    /// Reads and writes.
    Writer(Database),
    /// Reads a file that was left open by something that died, as it was when its header was this.
    Left(Database, Box<Header>),
}

/// The database as one open handle.
pub(crate) struct Open {
    /// There until it is dropped.
    pub(crate) handle: Option<Handle>,
    /// To look at the header with.
    pub(crate) file: File,
    pub(crate) identity: Identity,
}

impl Drop for Open {
    /// redb commits once more as it closes, and may panic on damaged pages.
    fn drop(&mut self) {
        let closed = unpanicked("close the store", || {
            drop(self.handle.take());
            Ok(())
        });
        // Everything that was acknowledged was committed before.
        drop(closed);
    }
}

impl Open {
    pub(crate) fn begin_read(&self) -> Result<ReadTransaction> {
        match &self.handle {
            Some(Handle::Reader(database)) => database.begin_read(),
            Some(Handle::Writer(database) | Handle::Left(database, _)) => database.begin_read(),
            None => return Err(Error::internal("the handle is closed")),
        }
        .map_err(failed("read the store"))
    }

    pub(crate) fn header(&self) -> Result<Header> {
        Header::read(&self.file)
            .map_err(|e| Error::unavailable("can't read the header of the store").with_source(e))
    }

    /// Whether what this handle would read is what the file holds.
    pub(crate) fn is_current(&self) -> bool {
        match &self.handle {
            Some(Handle::Left(_, header)) => self.header().is_ok_and(|now| now == **header),
            _ => true,
        }
    }
}

/// A write transaction, and what is needed to know what became of it.
pub(crate) struct Begun {
    pub(crate) txn: WriteTransaction,
    pub(crate) open: Arc<Open>,
    pub(crate) before: Header,
}

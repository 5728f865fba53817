//! Writing a slot: the same bytes to the same key, until it is known whose the slot is.

use bytes::Bytes;
use object_store::path::Path;
use sessionlog_core::{Error, Result};

use crate::head::{Decoded, Stamp};
use crate::objects::{Answer, Objects};

/// What became of a slot.
#[derive(Debug)]
pub(crate) enum Slot {
    /// It holds what was to be written.
    Won,
    /// Another's head is in it.
    Lost,
    /// Nothing was written, and nothing will be.
    Refused(Error),
    /// It may be written, now or later: only the same bytes may be put there.
    Unknown(Error),
}

/// Puts a head into its slot.
///
/// That the slot is taken says nothing: the answer to one's own put may have been lost, and the
/// store may call a race a loss. So the slot is read, and decides. That it is empty says nothing
/// either: a put whose answer was lost may still be under way. So the same bytes are put again until
/// there is an answer, a few times and no more.
pub(crate) async fn put_slot(
    objects: &Objects,
    key: &Path,
    bytes: &Bytes,
    stamp: Stamp,
    decode: impl Fn(&Bytes) -> Result<Decoded>,
) -> Slot {
    let mut tries = 0;
    // An earlier try may have been applied, or may be yet.
    let mut doubt = None;
    loop {
        tries += 1;
        let error = match objects.create(key, bytes).await {
            Answer::Made => return Slot::Won,
            Answer::Taken => match objects
                .get(key)
                .await
                .and_then(|got| got.map(|bytes| decode(&bytes)).transpose())
            {
                Ok(Some(head)) if head.state.stamp == stamp => return Slot::Won,
                Ok(Some(_)) => return Slot::Lost,
                Ok(None) => Error::unavailable(format!(
                    "the store calls the object taken that is not there, try again: {key}"
                )),
                // What can't be read may be one's own.
                Err(error) => return Slot::Unknown(unknown(error)),
            },
            Answer::Refused(error) => match doubt {
                None => return Slot::Refused(error),
                Some(_) => return Slot::Unknown(unknown(error)),
            },
            Answer::Unknown(error) => error,
        };
        if tries >= objects.options.tries {
            return Slot::Unknown(unknown(error));
        }
        doubt = Some(error);
        objects.pause(tries).await;
    }
}

fn unknown(error: Error) -> Error {
    Error::indeterminate(
        "the store did not say whether the write was done, look before repeating it",
    )
    .with_source(error)
}

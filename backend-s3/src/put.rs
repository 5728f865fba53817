//! Writing a slot: the same bytes to the same key, until it is known whose the slot is.

use std::time::Instant;

use bytes::Bytes;
use object_store::path::Path;
use sessionlog_core::{Error, Result};

use crate::head::{Decoded, Stamp};
use crate::objects::{Answer, Objects, absurd, unsettled};

/// What became of a slot.
#[derive(Debug)]
pub(crate) enum Slot {
    /// It holds what was to be written.
    Won,
    /// Another's head is in it.
    Lost,
    /// Nothing was written, and nothing will be.
    Refused(Error),
    /// Nothing was written: what it was to stand behind is known for too long.
    Old,
    /// It may be written, now or later: only the same bytes may be put there.
    Unknown(Error),
}

/// Puts a head into its slot.
///
/// That the slot is taken says nothing: the answer to one's own put may have been lost, and the
/// store may call a race a loss. So the slot is read, and decides. That it is empty says nothing
/// either: a put whose answer was lost may still be under way. So the same bytes are put again until
/// there is an answer, a few times and no more, and as long as the slot is `fresh`: one that was
/// looked at long ago may have been used, and its head collected.
pub(crate) async fn put_slot(
    objects: &Objects,
    key: &Path,
    bytes: &Bytes,
    stamp: Stamp,
    fresh: impl Fn() -> bool,
    decode: impl Fn(&Bytes) -> Result<Decoded>,
) -> Slot {
    let mut tries = 0;
    let begun = Instant::now();
    // An earlier try may have been applied, or may be yet.
    let mut doubt = None;
    loop {
        if !fresh() {
            return doubt.map_or(Slot::Old, |error| Slot::Unknown(unsettled(error)));
        }
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
                Ok(None) => absurd(key),
                // What can't be read may be one's own.
                Err(error) => return Slot::Unknown(unsettled(error)),
            },
            Answer::Refused(error) => match doubt {
                None => return Slot::Refused(error),
                Some(_) => return Slot::Unknown(unsettled(error)),
            },
            Answer::Unknown(error) => error,
        };
        if objects.is_enough(tries, begun) {
            return Slot::Unknown(unsettled(error));
        }
        doubt = Some(error);
        objects.pause(tries).await;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use object_store::memory::InMemory;
    use sessionlog_conformance::objects::{Fault, Faulty};
    use sessionlog_core::SessionRef;

    use super::*;
    use crate::head::{State, decode};
    use crate::options::Options;

    /// What becomes of a put of mine, with these verdicts on my requests; another's head may be in
    /// the slot before.
    fn put(script: &[Fault], taken: bool) -> Slot {
        let store = Arc::new(InMemory::new());
        let options = Options {
            pause: Duration::from_micros(10),
            tries: 4,
            ..Options::default()
        };
        let plain = Objects {
            store: Arc::clone(&store) as _,
            options: options.clone(),
        };
        let faulty = Objects {
            store: Arc::new(Faulty::scripted(store, script.iter().copied())),
            options,
        };
        let session = SessionRef::fresh("s".parse().unwrap());
        let key = Path::from("h/0");
        let head = |n: u8| {
            let stamp = Stamp {
                writer: [n; 16],
                commit: [n; 16],
            };
            let bytes = State::begin(&session, 0, stamp).encode("d", &[]);
            (stamp, bytes)
        };
        pollster::block_on(async {
            if taken {
                let (_, theirs) = head(2);
                plain.put(&key, &theirs).await.unwrap();
            }
            let (stamp, mine) = head(1);
            let slot = put_slot(
                &faulty,
                &key,
                &mine,
                stamp,
                || true,
                |b| decode(b, "h/0", "d", 0),
            )
            .await;
            if matches!(slot, Slot::Won) {
                assert_eq!(plain.get(&key).await.unwrap(), Some(mine));
            }
            slot
        })
    }

    #[test]
    fn a_taken_slot_is_mine_if_my_head_is_in_it() {
        use Fault::{AnswerLost, Conflict, Late, Lost, None, OwnRetry, Throttled};
        for script in [
            &[][..],
            &[OwnRetry],
            &[AnswerLost],
            &[Lost],
            &[Throttled, Throttled],
            // Called taken, and nothing is there.
            &[Conflict],
            // Arrives behind the look that found nothing.
            &[Late(1), Conflict, None],
            &[Late(2), Conflict, None, Conflict],
            // The look is lost as well.
            &[OwnRetry, Lost],
        ] {
            let slot = put(script, false);
            assert!(matches!(slot, Slot::Won), "{script:?}: {slot:?}");
        }
    }

    #[test]
    fn a_slot_of_another_is_lost_whatever_the_answers() {
        use Fault::{AnswerLost, Conflict, Late, Lost, OwnRetry};
        for script in [
            &[][..],
            &[OwnRetry],
            &[AnswerLost],
            &[Lost],
            &[Late(1)],
            &[Conflict],
        ] {
            let slot = put(script, true);
            assert!(matches!(slot, Slot::Lost), "{script:?}: {slot:?}");
        }
    }

    #[test]
    fn an_old_slot_is_not_written() {
        let store = Arc::new(InMemory::new());
        let options = Options::default();
        let faulty = Faulty::scripted(store, [Fault::Lost]);
        let objects = Objects {
            store: Arc::new(faulty.clone()),
            options,
        };
        let session = SessionRef::fresh("s".parse().unwrap());
        let stamp = Stamp {
            writer: [1; 16],
            commit: [1; 16],
        };
        let bytes = State::begin(&session, 0, stamp).encode("d", &[]);
        let key = Path::from("h/0");
        let put = |fresh: u32| {
            let left = std::cell::Cell::new(fresh);
            let fresh = move || left.replace(left.get().saturating_sub(1)) > 0;
            let put = put_slot(&objects, &key, &bytes, stamp, fresh, |b| {
                decode(b, "h/0", "d", 0)
            });
            pollster::block_on(put)
        };
        assert!(matches!(put(0), Slot::Old));
        assert_eq!(faulty.requests(), 0);
        // One that was sent, and may be on its way, is not called undone.
        assert!(matches!(put(1), Slot::Unknown(_)));
        assert_eq!(faulty.requests(), 1);
    }

    #[test]
    fn what_is_not_known_is_not_called_undone() {
        let slot = put(&[Fault::Lost; 4], false);
        assert!(matches!(slot, Slot::Unknown(_)), "{slot:?}");
        let slot = put(&[Fault::Late(100); 4], true);
        assert!(matches!(slot, Slot::Unknown(_)), "{slot:?}");
    }
}

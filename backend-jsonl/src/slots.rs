//! The tokens of the last two grants, in a file that survives any crash in between.

use std::io::ErrorKind as Io;

use serde::{Deserialize, Serialize};
use sessionlog_core::{Error, FencingToken, Holder, Owner, Place, Result, Sum, Timestamp};

use crate::dir::{LEASE, LEASE_LOCK, SessionDir};
use sessionlog_local::files::{
    failed, open_read, open_write, read_at, replace, wide, write_all_at,
};

/// The length of a slot, in bytes: two sectors, so that no slot shares one with the other.
const SLOT: usize = 1024;

/// One grant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Grant {
    token: FencingToken,
    owner: Owner,
    since: Timestamp,
}

impl Grant {
    /// The slot, with a checksum that begins with `seed`.
    fn encode(&self, seed: Sum) -> Option<[u8; SLOT]> {
        let object = serde_json::to_string(self).ok()?;
        let fields = object.strip_suffix('}')?;
        let sum = seed.then(fields.as_bytes());
        let line = format!("{fields},\"sum\":\"{sum}\"}}");
        let mut slot = [b' '; SLOT];
        slot.get_mut(..line.len())?.copy_from_slice(line.as_bytes());
        *slot.last_mut()? = b'\n';
        Some(slot)
    }

    /// The grant in a slot of the session with that seed, or in one that was written when the
    /// checksum did not yet say whose it is.
    fn decode(slot: &[u8], seed: Sum) -> Option<Self> {
        let line = slot.trim_ascii_end();
        let grant: Self = serde_json::from_slice(line).ok()?;
        let mut seeds = [seed, Sum::from_u64(0)].into_iter();
        let whole = seeds.any(|seed| grant.encode(seed).is_some_and(|whole| whole == slot));
        whole.then_some(grant)
    }
}

/// What `lease.json` says.
#[derive(Debug, Default)]
pub(crate) struct Slots {
    there: bool,
    grants: [Option<Grant>; 2],
}

impl Slots {
    /// Reads the file.
    ///
    /// # Errors
    /// `Corrupt` if neither slot is whole, or the file is missing although a lease was granted.
    pub(crate) fn read(dir: &SessionDir) -> Result<Self> {
        let path = dir.join(LEASE);
        let mut bytes = [0; 2 * SLOT];
        let mut read = || open_read(&path).and_then(|file| read_at(&file, &mut bytes, 0));
        let missing = |e: &std::io::Error| e.kind() == Io::NotFound;
        let found = match read() {
            Err(e) if missing(&e) => {
                if dir.join(LEASE_LOCK).symlink_metadata().is_err() {
                    return Ok(Self::default());
                }
                // Perhaps the first grant came in between.
                read()
            }
            found => found,
        };
        match found {
            Ok(_) => {}
            Err(e) if missing(&e) => {
                return Err(damaged(dir, "the file of the lease's token is missing"));
            }
            Err(e) => return Err(failed("read", &path)(e)),
        }
        let (first, second) = bytes.split_at(SLOT);
        let slots = Self {
            there: true,
            grants: [first, second].map(|slot| Grant::decode(slot, dir.seed())),
        };
        if slots.grants.iter().all(Option::is_none) {
            return Err(damaged(dir, "the token of the lease can't be read"));
        }
        Ok(slots)
    }

    /// Whether one of the two slots is damaged.
    pub(crate) fn is_damaged(&self) -> bool {
        self.there && self.grants.iter().any(Option::is_none)
    }

    fn last(&self) -> Option<&Grant> {
        self.grants.iter().flatten().max_by_key(|grant| grant.token)
    }

    /// The token of the newest whole grant.
    pub(crate) fn whole(&self) -> FencingToken {
        self.last().map_or(FencingToken::NONE, |grant| grant.token)
    }

    /// The newest token: a damaged slot may have held one that is newer than the whole one.
    pub(crate) fn newest(&self) -> FencingToken {
        if self.is_damaged() {
            self.whole().next()
        } else {
            self.whole()
        }
    }

    /// Who got the newest token, if that is known.
    pub(crate) fn holder(&self) -> Option<Holder> {
        self.last()
            .filter(|grant| grant.token == self.newest() && grant.token > FencingToken::NONE)
            .map(|grant| Holder::new(grant.owner.clone(), grant.token, grant.since))
    }

    /// Writes the next grant, durably. To be called under the append lock.
    pub(crate) fn grant(&self, dir: &SessionDir, owner: &Owner) -> Result<FencingToken> {
        let token = self.newest().next();
        self.write(dir, token, owner)?;
        Ok(token)
    }

    /// Writes a token, durably, into a file that may be damaged or missing.
    pub(crate) fn write(&self, dir: &SessionDir, token: FencingToken, owner: &Owner) -> Result<()> {
        let too_long = || Error::internal("a grant does not fit its slot");
        let grant = Grant {
            token,
            owner: owner.clone(),
            since: Timestamp::now(),
        };
        let slot = grant.encode(dir.seed()).ok_or_else(too_long)?;
        // Nobody held the token before it, or it does not matter any more who did. Tokens in the
        // two slots never differ by more than one: that is what a damaged slot is reckoned by.
        let before = Grant {
            token: FencingToken::new(token.get().saturating_sub(1)),
            owner: Owner::new("-")?,
            since: Timestamp::EPOCH,
        };
        let before = before.encode(dir.seed()).ok_or_else(too_long)?;
        if !self.there {
            return replace(dir.path(), LEASE, &[before, slot].concat(), true);
        }
        let path = dir.join(LEASE);
        // The newest whole grant stays as it is until this one is whole.
        let newest = self.grants.iter().position(|g| g.as_ref() == self.last());
        let (here, there) = match newest {
            Some(1) => (0, wide(SLOT)),
            _ => (wide(SLOT), 0),
        };
        let file = open_write(&path).map_err(failed("write", &path))?;
        let write = || {
            write_all_at(&file, &slot, here)?;
            file.sync_data()?;
            if self.is_damaged() {
                write_all_at(&file, &before, there)?;
                file.sync_data()?;
            }
            Ok(())
        };
        // Whatever of it reached the file counts, also half a slot: the next token is larger.
        write().map_err(|source: std::io::Error| {
            Error::indeterminate(format!(
                "the token of the lease was written, but perhaps not durably or not as a whole: {}",
                path.display()
            ))
            .with_source(source)
        })
    }
}

fn damaged(dir: &SessionDir, what: &str) -> Error {
    Error::corrupt(Place::file(dir.relative(LEASE)), what)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_owner_fits_and_every_flipped_bit_is_found() {
        for name in ["\"\\".repeat(128), "ä".repeat(128), "x".to_owned()] {
            let grant = Grant {
                token: FencingToken::new(u64::MAX),
                owner: Owner::new(name).unwrap(),
                since: Timestamp::MAX,
            };
            let (seed, other) = (Sum::from_u64(7), Sum::from_u64(8));
            let slot = grant.encode(seed).unwrap();
            assert_eq!(Grant::decode(&slot, other), None);
            assert_eq!(Grant::decode(&slot, seed), Some(grant));
            for at in 0..SLOT {
                let mut changed = slot;
                changed[at] ^= 4;
                assert_eq!(Grant::decode(&changed, seed), None, "{at}");
            }
        }
    }

    fn session() -> (tempfile::TempDir, SessionDir) {
        let root = tempfile::tempdir().unwrap();
        let dir = SessionDir::new(root.path(), &"s".parse().unwrap());
        std::fs::create_dir(dir.path()).unwrap();
        (root, dir)
    }

    /// Two slots take turns; a damaged one counts as newer than the whole one, and as nobody's.
    #[test]
    fn each_grant_is_larger_and_the_one_before_stays_whole() {
        let (_root, dir) = session();
        let none = Slots::read(&dir).unwrap();
        assert!(none.holder().is_none() && !none.is_damaged());
        assert_eq!(none.newest(), FencingToken::NONE);
        for n in 1..=4 {
            let owner = Owner::new(format!("owner {n}")).unwrap();
            let token = Slots::read(&dir).unwrap().grant(&dir, &owner).unwrap();
            assert_eq!(token, FencingToken::new(n));
            let slots = Slots::read(&dir).unwrap();
            assert!(!slots.is_damaged());
            assert_eq!((slots.newest(), slots.whole()), (token, token));
            let holder = slots.holder().unwrap();
            assert_eq!((holder.owner, holder.token), (owner, token));
            let mut tokens: Vec<_> = slots
                .grants
                .iter()
                .flatten()
                .map(|g| g.token.get())
                .collect();
            tokens.sort_unstable();
            assert_eq!(tokens, [n - 1, n]);
        }
        let mut bytes = std::fs::read(dir.join(LEASE)).unwrap();
        // The newest of four is in the first slot or the second; damage each.
        for (slot, newest, whole) in [(0, 4, 3), (1, 5, 4)] {
            let newest_is_first = bytes.starts_with(b"{\"token\":4");
            let at = if newest_is_first == (slot == 0) {
                0
            } else {
                SLOT
            };
            bytes[at + 3] ^= 1;
            std::fs::write(dir.join(LEASE), &bytes).unwrap();
            bytes[at + 3] ^= 1;
            let slots = Slots::read(&dir).unwrap();
            assert!(slots.is_damaged() && slots.holder().is_none());
            assert_eq!(slots.newest(), FencingToken::new(newest));
            assert_eq!(slots.whole(), FencingToken::new(whole));
        }
        // The next grant mends the slot.
        let owner = Owner::new("next").unwrap();
        let token = Slots::read(&dir).unwrap().grant(&dir, &owner).unwrap();
        assert_eq!(token, FencingToken::new(6));
        assert!(!Slots::read(&dir).unwrap().is_damaged());
    }

    #[test]
    fn a_token_that_was_never_granted_has_no_holder() {
        let (_root, dir) = session();
        let nobody = Owner::new("-").unwrap();
        let slots = Slots::default();
        slots.write(&dir, FencingToken::NONE, &nobody).unwrap();
        let slots = Slots::read(&dir).unwrap();
        assert_eq!(slots.newest(), FencingToken::NONE);
        assert!(slots.holder().is_none());
    }

    #[test]
    fn a_file_that_cannot_be_read_is_not_called_missing() {
        for granted in [true, false] {
            let (_root, dir) = session();
            if granted {
                std::fs::write(dir.join(LEASE_LOCK), "").unwrap();
                let missing = Slots::read(&dir).unwrap_err();
                assert!(missing.is_corrupt(), "{missing}");
            }
            #[cfg(unix)]
            {
                // A link is never followed.
                std::os::unix::fs::symlink(dir.path(), dir.join(LEASE)).unwrap();
                let unread = Slots::read(&dir).unwrap_err();
                assert!(!unread.is_corrupt(), "{unread}");
            }
        }
    }
}

//! Artifacts: bytes beside the log that events refer to.

use std::fmt;
use std::ops::Range;
use std::str::FromStr;

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::stream::BoxStream;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::{Error, FencingToken, Result, SessionRef};

/// The name of a blob: the SHA-256 of its content, as 64 lower-case hexadecimal digits, so that
/// anybody can check it with ordinary tools. <https://csrc.nist.gov/pubs/fips/180-4/upd1/final>
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct BlobId([u8; 32]);

impl BlobId {
    /// The name of this content.
    pub fn of(content: &[u8]) -> Self {
        let mut hasher = BlobHasher::default();
        hasher.update(content);
        hasher.finish()
    }
}

/// Names content that comes in pieces.
#[derive(Clone, Default)]
pub struct BlobHasher(Sha256);

impl BlobHasher {
    /// Takes the next piece.
    pub fn update(&mut self, piece: &[u8]) {
        self.0.update(piece);
    }

    /// The name of all pieces together.
    pub fn finish(self) -> BlobId {
        BlobId(self.0.finalize().into())
    }
}

impl fmt::Debug for BlobHasher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("BlobHasher")
    }
}

impl fmt::Display for BlobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|b| write!(f, "{b:02x}"))
    }
}

impl fmt::Debug for BlobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BlobId({self})")
    }
}

impl FromStr for BlobId {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let refuse = || Error::invalid(format!("not a blob id, 64 hexadecimal digits: {text:?}"));
        if text.len() != 64 || !text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f')) {
            return Err(refuse());
        }
        let mut id = [0; 32];
        for (slot, pair) in id.iter_mut().zip(text.as_bytes().chunks_exact(2)) {
            let pair = std::str::from_utf8(pair).map_err(|_| refuse())?;
            *slot = u8::from_str_radix(pair, 16).map_err(|_| refuse())?;
        }
        Ok(Self(id))
    }
}

impl TryFrom<String> for BlobId {
    type Error = Error;

    fn try_from(text: String) -> Result<Self> {
        text.parse()
    }
}

impl From<BlobId> for String {
    fn from(id: BlobId) -> Self {
        id.to_string()
    }
}

/// What is known of a blob without reading it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BlobInfo {
    /// Its name.
    pub id: BlobId,
    /// Its length in bytes.
    pub len: u64,
}

impl BlobInfo {
    /// What is known of a blob of this name and length.
    pub const fn new(id: BlobId, len: u64) -> Self {
        Self { id, len }
    }
}

/// Content, a piece at a time.
pub type Pieces = BoxStream<'static, Result<Bytes>>;

/// The blobs of one storage. Each belongs to one session and goes with it.
///
/// # Contract
///
/// - `put` is durable when it returns, whole or absent after a crash, and the same content twice
///   is one blob.
/// - Content may come for long. Whether the token is the newest and the life the present one is decided
///   where the blob takes effect, not only where its put begins; and what another handle clears away
///   when it is opened or written to is nothing of a put that is under way.
/// - `get` of a whole blob ends with `Corrupt` when the content does not match its name.
#[async_trait]
pub trait BlobStore: Send + Sync {
    /// Stores content and gives its name.
    ///
    /// # Errors
    /// The first error of `content`; `Fenced`, `NotFound`, `Unavailable`.
    async fn put(
        &self,
        session: &SessionRef,
        content: Pieces,
        token: Option<FencingToken>,
    ) -> Result<BlobInfo>;

    /// The bytes of a blob within `range`, cut at its end; `0..u64::MAX` is all of it. A blob that
    /// isn't there makes the stream's first item `NotFound`.
    fn get(&self, session: &SessionRef, id: BlobId, range: Range<u64>) -> Pieces;

    /// The blobs of a session, in no particular order.
    fn list(&self, session: &SessionRef) -> BoxStream<'static, Result<BlobInfo>>;

    /// Removes a blob; one that isn't there is no error.
    ///
    /// # Errors
    /// `Fenced`, `NotFound` (of the session), `Unavailable`.
    async fn remove(
        &self,
        session: &SessionRef,
        id: BlobId,
        token: Option<FencingToken>,
    ) -> Result<()>;
}

//! Where the demo happens.

use sessionlog::{Error, SessionId};

use crate::context::Context;
use crate::failure::{Failure, Outcome, os_error};

/// Where the demo happens, and what is to be removed behind it.
pub(super) struct Place {
    pub(super) url: String,
    pub(super) id: SessionId,
    pub(super) folder: Option<tempfile::TempDir>,
}

impl Place {
    /// The store that was named, or a temporary one.
    pub(super) fn choose(cx: &Context<'_, '_>) -> Outcome<Self> {
        if !cx.store_is_named() {
            let folder = tempfile::Builder::new()
                .prefix("sessionlog-demo-")
                .tempdir();
            let folder =
                folder.map_err(|e| os_error("there is no place for temporary files", e))?;
            let path = folder.path().join("store");
            let Some(path) = path.to_str() else {
                return Err(Error::invalid("the temporary folder's path is not UTF-8").into());
            };
            let url = format!("jsonl:{path}");
            return Ok(Self {
                url,
                id: SessionId::new("demo")?,
                folder: Some(folder),
            });
        }
        let url = cx.url()?;
        if url.starts_with("memory:") {
            return Err(Failure::hinted(
                Error::unsupported("a child process can't reach a store in this one's memory"),
                "leave --store away to use a temporary store of files",
            ));
        }
        let id = SessionId::new(&format!("demo-{}", SessionId::generate()))?;
        Ok(Self {
            url,
            id,
            folder: None,
        })
    }
}

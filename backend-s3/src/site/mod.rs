//! From a URL to an object store that was probed.

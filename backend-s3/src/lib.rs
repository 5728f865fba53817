//! Session logs in object storage.

mod site;

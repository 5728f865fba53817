//! The backend of the tutorial.

use crate::custom_backend::Mine;

sessionlog_conformance::conformance!(Mine);

//! The medium, owned by the suite.

use std::any::Any;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, SystemTime};
use std::{fs, fs::File, io};

use serde::{Deserialize, Serialize};
use tempfile::TempDir;

/// Where one store lives: a folder of its own, made and removed by the suite.
pub struct Place {
    name: String,
    dir: PathBuf,
    ground: Ground,
    kept: Mutex<Option<Box<dyn Any + Send + Sync>>>,
    #[cfg(feature = "objects")]
    objects: Arc<dyn object_store::ObjectStore>,
    _folder: Option<Arc<TempDir>>,
}

impl Place {
    /// The folder: it exists, and is empty at first.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// A name that no other place has: a prefix for object keys, a database name.
    /// Lower-case letters, digits and dashes.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What [`Options::with_base`](crate::Options::with_base) was given: where a medium that is no
    /// folder is found, such as the URL of a bucket. A store's own part of it is [`Place::name`].
    pub fn base(&self) -> Option<&str> {
        self.ground.base.as_deref()
    }

    /// The object store: empty at first, strongly consistent, in the memory of this process. It is
    /// the same for every life of the place, and no request to it waits for anything.
    ///
    /// It belongs to the place alone, so a prefix is not needed; [`name`](Self::name) is one.
    #[cfg(feature = "objects")]
    pub fn objects(&self) -> Arc<dyn object_store::ObjectStore> {
        Arc::clone(&self.objects)
    }

    /// What was made for this place by the first call: how a store that lives in memory is found
    /// again by the next `open`. Nothing of it reaches another process or a copy of the place.
    pub fn keep<T: Clone + Send + Sync + 'static>(&self, make: impl FnOnce() -> T) -> T {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(value) = kept.as_ref().and_then(|k| k.downcast_ref::<T>()) {
            return value.clone();
        }
        let value = make();
        *kept = Some(Box::new(value.clone()));
        value
    }

    /// A new place on a ground.
    pub(crate) fn new(ground: &Ground) -> io::Result<Self> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let mut builder = tempfile::Builder::new();
        builder.prefix("sessionlog-conformance-");
        let folder = match &ground.root {
            Some(root) => builder.tempdir_in(root),
            None => builder.tempdir(),
        }?;
        let dir = folder.path().join("store");
        fs::create_dir(&dir)?;
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("conformance-{}-{number}", std::process::id());
        Ok(Self {
            _folder: Some(Arc::new(folder)),
            ..Self::existing(name, dir, ground.clone())
        })
    }

    /// A new place in memory, if there is a file system for that; it is as fast as it gets. A
    /// store can't tell: nothing in it is flushed, and nothing of it has to outlive this process.
    pub(crate) fn in_memory(ground: &Ground) -> io::Result<Self> {
        static MEMORY: OnceLock<Option<PathBuf>> = OnceLock::new();
        let memory = MEMORY.get_or_init(|| {
            let shm = Path::new("/dev/shm");
            let usable = tempfile::tempfile_in(shm).is_ok();
            usable.then(|| shm.to_owned())
        });
        let Some(root) = memory else {
            return Self::new(ground);
        };
        Self::new(&Ground {
            root: Some(root.clone()),
            ..ground.clone()
        })
    }

    /// A new place for what flushes thousands of times and whose folder alone is looked at: in
    /// memory, unless a disk was named.
    pub(crate) fn quick(ground: &Ground) -> io::Result<Self> {
        match ground.root {
            Some(_) => Self::new(ground),
            None => Self::in_memory(ground),
        }
    }

    /// What it was made on.
    pub(crate) fn ground(&self) -> &Ground {
        &self.ground
    }

    /// The place of another process: its folder, and nothing that is in memory.
    pub(crate) fn existing(name: String, dir: PathBuf, ground: Ground) -> Self {
        Self {
            name,
            dir,
            ground,
            kept: Mutex::new(None),
            #[cfg(feature = "objects")]
            objects: Arc::new(object_store::memory::InMemory::new()),
            _folder: None,
        }
    }

    /// The place of one of several clients of an object store. It has no folder.
    #[cfg(feature = "objects")]
    pub(crate) fn of_objects(name: &str, objects: Arc<dyn object_store::ObjectStore>) -> Self {
        Self {
            objects,
            ..Self::existing(name.to_owned(), PathBuf::new(), Ground::default())
        }
    }

    /// Lets a minute pass for the files directly in the folder, as between two lives: a store that
    /// waits for a clock that stands still, before it believes when its file was changed, need not.
    pub(crate) fn rest(&self) -> io::Result<()> {
        let earlier = SystemTime::now().checked_sub(Duration::from_secs(60));
        let earlier = earlier.unwrap_or(SystemTime::UNIX_EPOCH);
        for entry in fs::read_dir(&self.dir)? {
            let entry = entry?;
            if entry.file_type()?.is_file() {
                File::open(entry.path())?.set_modified(earlier)?;
            }
        }
        Ok(())
    }

    /// Another place with a copy of the folder.
    pub(crate) fn copy(&self) -> io::Result<Self> {
        let copy = Self::new(&self.ground)?;
        copy_folder(&self.dir, &copy.dir)?;
        Ok(copy)
    }
}

/// Where places are made.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Ground {
    /// The folder that has the places' folders; the system's temporary one without.
    pub(crate) root: Option<PathBuf>,
    /// What [`Place::base`] tells.
    pub(crate) base: Option<String>,
}

impl Ground {
    /// The folder, if somebody took it away: nothing that was seen on it counts.
    pub(crate) fn gone(&self) -> Option<&Path> {
        self.root.as_deref().filter(|root| !root.is_dir())
    }
}

fn copy_folder(from: &Path, to: &Path) -> io::Result<()> {
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            fs::create_dir(&target)?;
            copy_folder(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), &target)?;
        }
    }
    Ok(())
}

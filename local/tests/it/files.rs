//! Files that are private, and that no link stands in for.

use std::fs;
use std::io::{self, ErrorKind as Io};
use std::path::Path;

use sessionlog_core::ErrorKind;
use sessionlog_local::files::*;
use sessionlog_local::look::Look;

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

#[cfg(unix)]
fn mode(path: &Path) -> u32 {
    use std::os::unix::fs::PermissionsExt;
    fs::symlink_metadata(path).unwrap().permissions().mode() & 0o777
}

#[cfg(unix)]
fn set_mode(path: &Path, mode: u32) {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

#[cfg(unix)]
#[test]
fn what_is_made_is_private_and_what_is_there_stays_as_it_is() {
    let folder = folder();
    let [new, opened, dir] = ["new", "opened", "dir"].map(|name| folder.path().join(name));
    create_new(&new).unwrap();
    assert_eq!(create_new(&new).unwrap_err().kind(), Io::AlreadyExists);
    open_or_create(&opened).unwrap();
    make_dir(&dir).unwrap();
    assert_eq!(
        [mode(&new), mode(&opened), mode(&dir)],
        [0o600, 0o600, 0o700]
    );
    set_mode(&opened, 0o640);
    set_mode(&dir, 0o750);
    open_or_create(&opened).unwrap();
    make_dir(&dir).unwrap();
    assert_eq!([mode(&opened), mode(&dir)], [0o640, 0o750]);
    assert_eq!(make_dir(&new).unwrap_err().kind(), Io::AlreadyExists);
    assert_eq!(
        make_dir(&new.join("below")).unwrap_err().kind(),
        Io::NotADirectory
    );
    assert_eq!(
        open_or_create(&new.join("below")).unwrap_err().kind(),
        Io::NotADirectory
    );
    assert_eq!(
        open_or_create(&dir.join("no/file")).unwrap_err().kind(),
        Io::NotFound
    );
}

/// Whatever the umask: a process of its own has it, since it belongs to the whole process.
#[cfg(unix)]
#[test]
fn no_umask_opens_or_closes_what_is_made() {
    const CHILD: &str = "SESSIONLOG_LOCAL_UMASK";
    let made = |folder: &Path| ["a", "b"].map(|name| folder.join(name));
    if let Some(folder) = std::env::var_os(CHILD) {
        let [file, dir] = made(Path::new(&folder));
        create_new(&file).unwrap();
        make_dir(&dir).unwrap();
        return;
    }
    for umask in ["000", "022", "277", "777"] {
        let folder = folder();
        let run = format!(
            "umask {umask}; exec \"$0\" --exact files::no_umask_opens_or_closes_what_is_made"
        );
        let child = std::process::Command::new("sh")
            .args(["-c", &run])
            .arg(std::env::current_exe().unwrap())
            .env(CHILD, folder.path())
            .output()
            .unwrap();
        assert!(
            child.status.success(),
            "{}",
            String::from_utf8_lossy(&child.stdout)
        );
        let [file, dir] = made(folder.path());
        assert_eq!([mode(&file), mode(&dir)], [0o600, 0o700], "umask {umask}");
    }
}

#[cfg(unix)]
#[test]
fn no_link_and_no_pipe_is_followed_or_waited_for() {
    let folder = folder();
    let [file, link, dir, pipe] = ["file", "link", "dir", "pipe"].map(|n| folder.path().join(n));
    fs::write(&file, "x").unwrap();
    std::os::unix::fs::symlink(&file, &link).unwrap();
    std::os::unix::fs::symlink(folder.path(), &dir).unwrap();
    assert!(open_read(&file).is_ok() && open_write(&file).is_ok());
    assert!(open_read(&link).is_err() && open_write(&link).is_err());
    assert!(open_or_create(&link).is_err() && create_new(&link).is_err());
    assert!(is_dir(folder.path()) && !is_dir(&dir) && !is_dir(&file) && !is_dir(&pipe));
    assert_eq!(make_dir(&dir).unwrap_err().kind(), Io::AlreadyExists);
    nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::from_bits_truncate(0o600)).unwrap();
    drop(open_read(&pipe));
}

#[test]
fn a_file_has_one_identity_and_its_successor_another() {
    let folder = folder();
    let [a, b] = ["a", "b"].map(|name| folder.path().join(name));
    fs::write(&a, "x").unwrap();
    fs::write(&b, "x").unwrap();
    let of = |path: &Path| Look::at(path).unwrap().identity;
    assert_eq!(of(&a), Look::of(&open_read(&a).unwrap()).unwrap().identity);
    assert_ne!(of(&a), of(&b));
    assert_ne!(of(&a).number(), of(&b).number());
    let was = of(&a);
    fs::rename(&b, &a).unwrap();
    assert_ne!(of(&a), was);
}

#[test]
fn a_look_sees_what_the_metadata_say() {
    let folder = folder();
    let [file, link, missing] = ["file", "link", "none"].map(|n| folder.path().join(n));
    fs::write(&file, "12345").unwrap();
    std::os::unix::fs::symlink(&file, &link).unwrap();
    for path in [&file, &link, &folder.path().to_owned(), &"/dev/null".into()] {
        let meta = fs::symlink_metadata(path).unwrap();
        assert_eq!(Look::at(path).unwrap(), Look::from(&meta));
        let file = fs::File::open(path).unwrap();
        assert_eq!(
            Look::of(&file).unwrap(),
            Look::from(&file.metadata().unwrap())
        );
    }
    let seen = Look::at(&file).unwrap();
    assert_eq!((seen.len, seen.is_file, seen.is_dir), (5, true, false));
    assert_eq!(Look::at(&missing).unwrap_err().kind(), Io::NotFound);
}

#[test]
fn bytes_are_read_and_written_where_they_were_asked_for() {
    let folder = folder();
    let path = folder.path().join("file");
    let file = create_new(&path).unwrap();
    write_all_at(&file, b"abcdef", 2).unwrap();
    write_all_at(&file, b"XY", 3).unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"\0\0aXYdef");
    assert!(write_all_at(&open_read(&path).unwrap(), b"x", 0).is_err());
    let mut buffer = [b'-'; 4];
    assert_eq!(read_at(&file, &mut buffer, 2).unwrap(), 4);
    assert_eq!(&buffer, b"aXYd");
    let mut buffer = [b'-'; 4];
    assert_eq!(read_at(&file, &mut buffer, 6).unwrap(), 2);
    assert_eq!(&buffer, b"ef--");
    assert_eq!(read_at(&file, &mut buffer, 99).unwrap(), 0);
    assert_eq!(read_at(&file, &mut [], 0).unwrap(), 0);
    assert_eq!(read_range(&file, 2, 5).unwrap(), b"aXY");
    assert_eq!(read_range(&file, 6, 99).unwrap(), b"ef");
    assert_eq!(read_range(&file, 5, 5).unwrap(), b"");
    assert_eq!(read_range(&file, 5, 2).unwrap(), b"");
    let blind = fs::OpenOptions::new().write(true).open(&path).unwrap();
    assert!(read_at(&blind, &mut buffer, 0).is_err() && read_range(&blind, 0, 1).is_err());
    assert_eq!((wide(7), narrow(7).unwrap()), (7, 7));
}

#[test]
fn a_name_is_used_once() {
    let names: std::collections::HashSet<_> = (0..100).map(|_| unique()).collect();
    assert_eq!(names.len(), 100);
}

#[test]
fn a_refusal_says_what_to_do_about_it() {
    let path = Path::new("there");
    for (io, kind, says) in [
        (Io::ReadOnlyFilesystem, ErrorKind::Unsupported, "read-only"),
        (
            Io::PermissionDenied,
            ErrorKind::Unsupported,
            "change the rights",
        ),
        (Io::StorageFull, ErrorKind::Unavailable, "the disk is full"),
        (Io::QuotaExceeded, ErrorKind::Unavailable, "quota"),
        (
            Io::TimedOut,
            ErrorKind::Unavailable,
            "can't write to: there",
        ),
    ] {
        let error = failed("write to", path)(io::Error::from(io));
        assert_eq!(*error.kind(), kind, "{error}");
        assert!(
            error.message().starts_with("can't write to: there"),
            "{error}"
        );
        assert!(error.message().contains(says), "{error}");
        assert!(std::error::Error::source(&error).is_some());
    }
}

#[test]
fn a_store_of_one_file_takes_an_empty_folder_or_its_own() {
    let folder = folder();
    let own = folder.path().join("store.db");
    assert_eq!(file_in_folder(folder.path(), "store.db").unwrap(), own);
    fs::write(folder.path().join(".hidden"), "").unwrap();
    assert_eq!(file_in_folder(folder.path(), "store.db").unwrap(), own);
    fs::write(folder.path().join("another"), "").unwrap();
    let error = file_in_folder(folder.path(), "store.db").unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::InvalidInput);
    fs::write(folder.path().join("third"), "").unwrap();
    assert!(file_in_folder(folder.path(), "store.db").is_err());
    fs::write(folder.path().join("store.db-wal"), "").unwrap();
    assert_eq!(file_in_folder(folder.path(), "store.db").unwrap(), own);
    assert!(file_in_folder(&folder.path().join("no"), "store.db").is_err());
}

#[test]
fn whoever_makes_a_file_at_the_same_time_gets_the_same_file() {
    let folder = folder();
    let start = std::sync::Barrier::new(4);
    let make = |n: u32| {
        start.wait();
        open_or_create(&folder.path().join(n.to_string())).map(drop)
    };
    let made: Vec<_> = std::thread::scope(|scope| {
        let threads = [(); 4].map(|()| scope.spawn(|| (0..200).map(make).collect::<Vec<_>>()));
        threads
            .into_iter()
            .flat_map(|thread| thread.join().unwrap())
            .collect()
    });
    assert_eq!(made.len(), 800);
    made.into_iter().for_each(|made| made.unwrap());
}

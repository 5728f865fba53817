//! Folders in memory: read, written, changed, compared.

use std::{ffi::OsStr, fs, path::Path, sync::Arc};

use sessionlog_crashfs::{Allocation, FileId, Op, Place, Tree};
use tempfile::tempdir;

const FILE: FileId = FileId(7);

fn place(name: &str) -> Place {
    Place {
        dir: FileId::ROOT,
        name: Arc::from(OsStr::new(name)),
    }
}

fn create(tree: &mut Tree, file: FileId, name: &str) {
    let place = place(name);
    tree.apply(&Op::Create { file, place });
}

fn write(tree: &mut Tree, at: u64, data: &[u8]) {
    let (file, data) = (FILE, Arc::from(data));
    tree.apply(&Op::Write { file, at, data });
}

#[test]
fn what_is_written_reads_back_the_same() {
    let (from, to) = (tempdir().unwrap(), tempdir().unwrap());
    let at = |name: &str| from.path().join(name);
    fs::create_dir_all(at("d/e")).unwrap();
    fs::write(at("d/a"), b"content").unwrap();
    fs::hard_link(at("d/a"), at("b")).unwrap();
    let mut sparse = vec![0; 1_000_000];
    sparse[500_000] = 1;
    sparse.push(0);
    fs::write(at("d/e/sparse"), &sparse).unwrap();
    fs::write(at("zeroes"), vec![0; 100_000]).unwrap();
    fs::write(at("empty"), b"").unwrap();
    std::os::unix::fs::symlink("d/a", at("link")).unwrap();

    let tree = Tree::read(from.path()).unwrap();
    assert_eq!(tree.bytes("d/a"), Some(&b"content"[..]));
    assert_eq!(tree.find("d/a"), tree.find("./b"));
    assert_eq!((tree.find("none"), tree.find("../x")), (None, None));
    tree.write(to.path()).unwrap();
    let back = Tree::read(to.path()).unwrap();
    assert_eq!(tree.difference(&back), None);
    assert_eq!(fs::read(to.path().join("d/e/sparse")).unwrap(), sparse);
    assert_eq!(
        fs::read_link(to.path().join("link")).unwrap(),
        Path::new("d/a")
    );
    // Nobody has to wait until the clock tells a later change from the first one.
    let changed = fs::metadata(to.path().join("d/a")).unwrap().modified();
    assert!(changed.unwrap().elapsed().unwrap().as_secs() >= 60);
    let error = tree.write(to.path()).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::AlreadyExists);
}

#[test]
fn every_difference_is_told() {
    let mut a = Tree::new();
    create(&mut a, FILE, "a");
    write(&mut a, 0, b"same");
    let said = |b: &Tree| a.difference(b).unwrap();

    assert!(said(&Tree::new()).contains("a is in the record only"));
    let mut b = a.clone();
    create(&mut b, FileId(8), "b");
    assert!(said(&b).contains("b is in the folder only"));
    let mut b = a.clone();
    write(&mut b, 3, b"E");
    assert!(said(&b).contains("differs from byte 3"));
    let mut b = a.clone();
    write(&mut b, 4, b"!");
    assert!(said(&b).contains("4 bytes in the record and 5"));
    let mut b = Tree::new();
    b.apply(&Op::Mkdir {
        dir: FILE,
        place: place("a"),
    });
    assert!(said(&b).contains("a file in the record and a folder"));

    let (mut one, mut two) = (a.clone(), a.clone());
    one.apply(&Op::Link {
        file: FILE,
        place: place("b"),
    });
    create(&mut two, FileId(8), "b");
    two.files.insert(FileId(8), two.files[&FILE].clone());
    assert!(one.difference(&two).unwrap().contains("another file"));
    assert_eq!(a.difference(&a.clone()), None);
}

#[test]
fn long_runs_of_zeroes_take_no_room_on_the_disk() {
    use std::os::unix::fs::MetadataExt;
    let mut tree = Tree::new();
    create(&mut tree, FILE, "a");
    write(&mut tree, 0, b"begin");
    write(&mut tree, 1 << 20, b"middle");
    let len = 2 << 20;
    tree.apply(&Op::Truncate { file: FILE, len });
    let to = tempdir().unwrap();
    tree.write(to.path()).unwrap();
    let meta = fs::metadata(to.path().join("a")).unwrap();
    assert_eq!(meta.len(), len);
    assert!(meta.blocks() * 512 < 1 << 20, "{} blocks", meta.blocks());
    assert_eq!(Tree::read(to.path()).unwrap().bytes("a"), tree.bytes("a"));
}

#[test]
fn lengths_and_holes_are_as_the_kernel_makes_them() {
    let mut tree = Tree::new();
    create(&mut tree, FILE, "a");
    write(&mut tree, 4, b"1234");
    assert_eq!(tree.bytes("a").unwrap(), b"\0\0\0\x001234");
    let allocate = |tree: &mut Tree, at, len, how| {
        let file = FILE;
        tree.apply(&Op::Allocate { file, at, len, how });
    };
    allocate(&mut tree, 0, 10, Allocation::Reserve);
    assert_eq!(tree.bytes("a").unwrap().len(), 8);
    allocate(&mut tree, 6, 4, Allocation::Grow);
    assert_eq!(tree.bytes("a").unwrap(), b"\0\0\0\x001234\0\0");
    allocate(&mut tree, 5, 1, Allocation::Punch);
    allocate(&mut tree, 7, 100, Allocation::Punch);
    assert_eq!(tree.bytes("a").unwrap(), b"\0\0\0\x001\x003\0\0\0");
    allocate(&mut tree, 0, 4, Allocation::Collapse);
    assert_eq!(tree.bytes("a").unwrap(), b"1\x003\0\0\0");
    allocate(&mut tree, 1, 2, Allocation::Insert);
    assert_eq!(tree.bytes("a").unwrap(), b"1\0\0\x003\0\0\0");
    allocate(&mut tree, 6, 4, Allocation::Zero { keep_size: true });
    assert_eq!(tree.bytes("a").unwrap().len(), 8);
    allocate(&mut tree, 6, 4, Allocation::Zero { keep_size: false });
    assert_eq!(tree.bytes("a").unwrap().len(), 10);
    tree.apply(&Op::Truncate { file: FILE, len: 1 });
    assert_eq!(tree.bytes("a").unwrap(), b"1");
}

#[test]
fn names_and_data_can_be_lost_apart() {
    let create = Op::Create {
        file: FILE,
        place: place("new"),
    };
    let data = Op::Write {
        file: FILE,
        at: 0,
        data: Arc::from(&b"x"[..]),
    };
    let rename = Op::Rename {
        node: FILE,
        from: place("new"),
        to: place("old"),
        replaced: None,
    };
    let mut nameless = Tree::new();
    nameless.apply_data(&create);
    nameless.apply(&data);
    assert_eq!((nameless.find("new"), nameless.files.len()), (None, 1));
    nameless.apply(&rename);
    assert_eq!(nameless.bytes("old"), Some(&b"x"[..]));

    let mut hollow = Tree::new();
    hollow.apply_names(&create);
    let folder = tempdir().unwrap();
    hollow.write(folder.path()).unwrap();
    assert_eq!(fs::read(folder.path().join("new")).unwrap(), b"");
}

#[test]
fn a_folder_in_itself_ends() {
    let mut tree = Tree::new();
    let (dir, name) = (FileId(3), Arc::from(OsStr::new("d")));
    tree.apply(&Op::Mkdir {
        dir,
        place: place("d"),
    });
    tree.name(&Place { dir, name }, dir);
    let folder = tempdir().unwrap();
    tree.write(folder.path()).unwrap();
    assert_eq!(fs::read_dir(folder.path().join("d")).unwrap().count(), 0);
}

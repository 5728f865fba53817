//! A folder of objects: what is acknowledged is on disk, name and all.

use std::sync::Arc;

use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt, PutMultipartOptions};
use pollster::block_on;
use sessionlog_backend_s3::{Bucket, Folder, Options};
use sessionlog_core::{AppendCondition, EventLog, Kind, NewEvent, SessionRef};
use sessionlog_crashfs::{FileId, Op, Recorder, Watch, armed};

/// The folders that are flushed by a write to `a/b/object`, whose folders somebody made who ended
/// before they were flushed.
fn flushed(write: impl AsyncFnOnce(&Folder)) -> [bool; 3] {
    armed().unwrap();
    let top = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(top.path().join("a/b")).unwrap();
    let folder = Folder::new(top.path()).unwrap();
    let recorder = Recorder::new(top.path()).unwrap();
    block_on(write(&folder));
    let record = recorder.finish().unwrap();
    let is_flush = |dir: FileId| {
        let flush = Op::FlushFolder { dir, ok: true };
        record.ops.contains(&flush)
    };
    ["", "a", "a/b"].map(|dir| is_flush(record.start.find(dir).unwrap()))
}

#[test]
fn an_upload_in_parts_is_flushed_with_the_names_of_its_folders() {
    let at = Path::from("a/b/object");
    let put = flushed(async |folder| {
        folder.put(&at, "content".into()).await.unwrap();
    });
    let upload = flushed(async |folder| {
        let options = PutMultipartOptions::default();
        let upload = folder.put_multipart_opts(&at, options).await;
        let mut upload = upload.unwrap();
        upload.put_part("con".into()).await.unwrap();
        upload.put_part("tent".into()).await.unwrap();
        upload.complete().await.unwrap();
    });
    assert_eq!((put, upload), ([true; 3], [true; 3]));
}

/// Who wrote a batch acknowledged it behind a flush; of another's nobody knows how far that had come.
#[test]
fn a_repeat_of_what_another_wrote_flushes_the_folder() {
    armed().unwrap();
    let top = tempfile::tempdir().unwrap();
    let open = || {
        let folder = Folder::new(top.path()).unwrap();
        Bucket::new(Arc::new(folder), "", Options::default())
    };
    let (writer, other) = (open(), open());
    let session = SessionRef::fresh("s".parse().unwrap());
    let batch = vec![NewEvent::json(Kind::from_static("note"), "1").unwrap()];
    let append = |bucket: &Bucket| {
        let condition = AppendCondition::NONE;
        block_on(bucket.append(&session, batch.clone(), condition)).unwrap()
    };
    block_on(writer.create(&session)).unwrap();
    let stored = append(&writer);
    let flushes = |bucket: &Bucket| {
        let watch = Watch::new(top.path()).unwrap();
        assert_eq!(append(bucket), stored);
        watch.counts().folder_flushes
    };
    assert_eq!(flushes(&writer), 0);
    assert!(flushes(&other) > 0);
}

//! URLs and options.

use std::error::Error as _;
use std::fs;
use std::sync::{Arc, Mutex};

use object_store::ObjectStoreExt;
use object_store::path::Path;
use sessionlog_backend_s3::Location;
use sessionlog_core::{Error, ErrorKind};

use crate::stub;

fn refused(url: &str) -> Error {
    let found = Location::parse(url).and_then(|at| at.connect().map(drop));
    found.expect_err("it was taken")
}

#[test]
fn a_folder_may_be_beside_another() {
    let root = tempfile::tempdir().unwrap();
    let at = root.path().canonicalize().unwrap();
    fs::create_dir_all(at.join("a/b")).unwrap();
    let prefix = |tail: &str| {
        let url = format!("file:{}/{tail}", at.display());
        Location::parse(&url).unwrap().connect().unwrap().1
    };
    assert_eq!(prefix("a/b/../../x"), prefix("x"));
    assert_eq!(prefix("a/../b/./c"), prefix("b/c"));
    let missing = refused(&format!("file:{}/missing/../x", at.display()));
    assert!(
        matches!(missing.kind(), ErrorKind::InvalidInput),
        "{missing}"
    );
}

#[test]
fn a_url_has_a_bucket_and_a_prefix() {
    for (url, shown, prefix) in [
        ("s3:bucket", "s3:bucket", ""),
        ("s3://bucket/", "s3:bucket", ""),
        ("s3:bucket/a/b/", "s3:bucket/a/b", "a/b"),
        ("gs://bucket/ä ö", "gs:bucket/ä ö", "ä ö"),
        ("az:box/a?account_name=x", "az:box/a", "a"),
    ] {
        let location = Location::parse(url).unwrap();
        assert_eq!(location.to_string(), shown);
        let location = match url.split(':').next().unwrap() {
            "s3" => location
                .option("access_key_id", "i")
                .option("secret_access_key", "s"),
            "gs" => location.option("bearer_token", "t"),
            _ => location.option("account_key", "a2V5"),
        };
        assert_eq!(location.connect().unwrap().1, Path::parse(prefix).unwrap());
    }
}

#[test]
fn a_folder_is_made_by_the_first_write_and_not_before() {
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join("a #1?b/c");
    let (store, prefix) = Location::parse(&format!("file:{}", folder.display()))
        .unwrap()
        .connect()
        .unwrap();
    let listed = pollster::block_on(store.list_with_delimiter(Some(&prefix))).unwrap();
    assert!(listed.objects.is_empty() && !folder.exists());
    pollster::block_on(store.put(&prefix.join("k"), "x".into())).unwrap();
    assert_eq!(fs::read(folder.join("k")).unwrap(), b"x");
}

#[test]
fn a_folder_with_something_else_is_not_mixed_with() {
    let root = tempfile::tempdir().unwrap();
    let url = format!("file:{}", root.path().display());
    fs::write(root.path().join("else"), "").unwrap();
    for url in [url.clone(), format!("{url}/else")] {
        let error = refused(&url);
        assert_eq!(*error.kind(), ErrorKind::Unsupported, "{error}");
    }
    fs::create_dir(root.path().join("v1")).unwrap();
    Location::parse(&url).unwrap().connect().unwrap();
}

#[test]
fn what_is_wrong_with_a_url_is_said() {
    for (url, says) in [
        ("bucket/prefix", "s3:bucket/prefix"),
        ("s3:", "needs a place"),
        ("s3:/prefix", "needs a place"),
        ("s3:id:key@bucket/p", "are options"),
        ("s3:bucket/a//b", "part of a key"),
        ("s3:bucket/a/../b", "part of a key"),
        ("s3:bucket?region=a&region=b", "twice: region"),
        ("s3:bucket?region", "name=value"),
        ("s3:bucket?regio=a", "use one of region"),
        ("s3:bucket?bucket=b", "use one of region"),
        ("s3:bucket?path_style=perhaps", "true or false: path_style"),
        ("s3:bucket?probe=perhaps", "probe is true or false"),
        ("s3:bucket?access_key_id=a", "missing"),
        (
            "s3:bucket?endpoint=http://a:b@host",
            "options of their own: endpoint",
        ),
        ("s3:bucket?profile=none", "no access key"),
        ("az:box?timeout=soon&account_name=a&account_key=a2V5", "10s"),
    ] {
        let error = refused(url);
        assert_eq!(*error.kind(), ErrorKind::InvalidInput, "{url}: {error}");
        let text = format!("{error} {:?}", error.source());
        assert!(text.contains(says), "{url}: {text}");
    }
}

#[test]
fn secrets_are_in_no_message() {
    const SECRET: &str = "fakesecretfakesecret";
    let location = Location::parse(&format!(
        "s3:bucket?access_key_id=id&secret_access_key={SECRET}&endpoint=http://127.0.0.1:1&session_token={SECRET}"
    ))
    .unwrap()
    .vars([("AWS_SESSION_TOKEN", SECRET)]);
    assert!(!format!("{location} {location:?} {location:#?}").contains(SECRET));
    let (store, _) = location.connect().unwrap();
    let shown = format!("{store} {store:?}");
    assert!(!shown.contains(SECRET), "{shown}");
    for url in [
        format!("s3:{SECRET}:{SECRET}@bucket"),
        format!("s3:bucket?endpoint=http://a:{SECRET}@host"),
        format!("s3:bucket?secret_access_key={SECRET}"),
        format!("s3:bucket?secret_access_key={SECRET}&timeout={SECRET}&access_key_id=a"),
        format!("gs:bucket?service_account_key={SECRET}"),
        format!("az:box?account_name=a&account_key={SECRET}!"),
        format!("az:box?account_name=a&sas_token={SECRET}%00"),
    ] {
        let Err(error) = Location::parse(&url).and_then(|at| at.connect().map(drop)) else {
            continue;
        };
        let shown = format!("{error} {error:?}");
        assert!(!shown.contains(SECRET), "{url}: {shown}");
    }
}

#[test]
fn a_profile_gives_credentials_and_the_environment_goes_before_it() {
    let home = tempfile::tempdir().unwrap();
    fs::create_dir(home.path().join(".aws")).unwrap();
    let write =
        |name: &str, text: &str| fs::write(home.path().join(".aws").join(name), text).unwrap();
    write(
        "credentials",
        "# mine\n[default]\naws_access_key_id = d\naws_secret_access_key=fakesecret\n\n[ops]\n\
         aws_access_key_id=o\naws_secret_access_key=fakesecret\naws_session_token = fakesecret\n",
    );
    write(
        "config",
        "[default]\nregion=eu-west-1\n[profile ops]\nregion = us-west-2\ns3 =\n  \
         addressing_style = path\n[profile role]\nrole_arn=arn\nsource_profile=ops\n",
    );
    let home = home.path().to_str().unwrap().to_owned();
    // Who asks in which region is in the signature of each request.
    let heads = Arc::new(Mutex::new(Vec::new()));
    let server = stub::serve({
        let heads = heads.clone();
        move |request| {
            heads.lock().unwrap().push(request.head.clone());
            stub::answer("404 None", "", b"")
        }
    });
    let asks = |url: &str, vars: &[(&str, &str)]| {
        let vars = vars.iter().copied().chain([("HOME", home.as_str())]);
        let location = Location::parse(url)?.vars(vars);
        let location = location.option("endpoint", format!("http://{server}"));
        let (store, _) = location.option("allow_http", "true").connect()?;
        pollster::block_on(store.get(&Path::from("k"))).unwrap_err();
        let head = heads.lock().unwrap().pop().unwrap();
        let (_, credential) = head.split_once("Credential=").unwrap();
        let mut parts = credential.split('/');
        let (id, region) = (parts.next().unwrap(), parts.nth(1).unwrap());
        let token = if head.contains("x-amz-security-token") {
            " with token"
        } else {
            ""
        };
        Ok::<_, Error>(format!("{id} in {region}{token}"))
    };
    let keys = [
        ("AWS_ACCESS_KEY_ID", "e"),
        ("AWS_SECRET_ACCESS_KEY", "fakesecret"),
        ("AWS_REGION", "r"),
    ];
    assert_eq!(asks("s3:b", &[]).unwrap(), "d in eu-west-1");
    assert_eq!(asks("s3:b", &keys).unwrap(), "e in r");
    assert_eq!(asks("s3:b?region=given", &keys).unwrap(), "e in given");
    let ops = "o in us-west-2 with token";
    assert_eq!(asks("s3:b", &[("AWS_PROFILE", "ops")]).unwrap(), ops);
    assert_eq!(asks("s3:b?profile=ops", &keys[..2]).unwrap(), ops);
    let other = "s3:b?access_key_id=g&secret_access_key=fakesecret";
    assert_eq!(
        asks(other, &[("AWS_SESSION_TOKEN", "x")]).unwrap(),
        "g in us-east-1"
    );
    for url in ["s3:b?profile=role", "s3:b?profile=none"] {
        let error = asks(url, &[]).unwrap_err();
        assert!(error.message().contains("no access key"), "{error}");
    }
}

#[test]
fn a_machine_without_credentials_hears_what_to_set() {
    // Nobody listens on this port, which stands for the metadata service of a machine in the cloud.
    let url = "s3:bucket?metadata_endpoint=http://127.0.0.1:9&endpoint=http://127.0.0.1:9&allow_http=true";
    let (store, prefix) = Location::parse(url).unwrap().connect().unwrap();
    let error = pollster::block_on(store.put(&prefix.join("k"), "x".into())).unwrap_err();
    assert!(error.to_string().contains("no credentials"), "{error}");
}

#[test]
fn a_place_is_cleared_and_its_neighbour_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| format!("file:{}", folder.path().join(name).display());
    pollster::block_on(async {
        for name in ["a/b", "a/bc"] {
            let (store, prefix) = Location::parse(&at(name)).unwrap().connect().unwrap();
            for key in ["x", "y/z"] {
                let key = Path::from(format!("{prefix}/{key}"));
                store.put(&key, "1".into()).await.unwrap();
            }
        }
        let place = Location::parse(&at("a/b")).unwrap();
        assert_eq!(place.clear().await.unwrap(), 2);
        assert_eq!(place.clear().await.unwrap(), 0);
        let beside = Location::parse(&at("a/bc")).unwrap();
        assert_eq!(beside.clear().await.unwrap(), 2);
    });
}

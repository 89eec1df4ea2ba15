//! Answers that don't match the request: redirections, lists that contradict themselves, and
//! completions without a result.

use crate::azure;
use crate::google::with_token;
use crate::http::{Variable, disk_of, disk_that, environment, listed, serving, store};
use crate::lost_answers::makes_object;
use crate::server::{Asked, BUCKET, PUBLIC, Server, TOKEN, Wrong};
use crate::transfers::{PAGE, read_all, write_all};
use std::net::TcpListener;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use xsort_disk::{InputFiles, OutputFiles};
use xsort_objects::{Bucket, Environment, Location, ObjectDisk, Reason, Stop, connect};
use xsort_testing::Random;

const URL: &str = "s3://bucket/k";

fn disk(server: &Server, changed: &[Variable<'_>]) -> ObjectDisk {
    disk_of(environment(server, changed))
}

/// Returns a disk for each kind of store, with the URL of an object.
fn disks(server: &Server) -> [(ObjectDisk, String); 3] {
    let url = |scheme: &str| format!("{scheme}://{BUCKET}/k");
    [
        (disk(server, &[("AWS_SESSION_TOKEN", "a secret")]), url("s3")),
        (disk_of(with_token(server, TOKEN)), url("gs")),
        (disk_of(azure::with(server, &[])), url("az")),
    ]
}

/// The token and the bytes never go to another host, whatever the store answers.
#[test]
fn no_redirection_of_a_store_is_followed() {
    let elsewhere = TcpListener::bind("127.0.0.1:0").unwrap();
    elsewhere.set_nonblocking(true).unwrap();
    let other = elsewhere.local_addr().unwrap().to_string();
    for status in [301, 302, 307, 308] {
        for only_writes in [false, true] {
            let (store, location) = (store(), format!("http://{other}/k?X-Amz-Signature=abc"));
            let server = Server::start(&store, move |asked: &Asked| {
                match only_writes && asked.method != "PUT" {
                    true => Wrong::Nothing,
                    false => Wrong::RefuseWith(status, "location", location.clone()),
                }
            });
            for (disk, url) in disks(&server) {
                let written = write_all(&disk, Path::new(&url), &[7; PAGE], 0..1);
                let error = written.unwrap_err().to_string();
                assert!(error.contains(&format!("to {other} ({status}")), "{url}: {error}");
                assert!(!error.contains("abc") && !error.contains("secret"), "{error}");
                if !only_writes {
                    assert!(disk.open_input(Path::new(&url)).is_err(), "{url}");
                }
            }
            assert!(store.urls().is_empty());
        }
    }
    assert!(elsewhere.accept().is_err(), "somebody came");
}

/// Downloads from web servers often are on another host.
#[test]
fn redirections_of_web_servers_are_followed() {
    let store = store();
    store.put_object(&format!("s3://{PUBLIC}/new"), "moved");
    let server = Server::start(&store, |asked: &Asked| match asked.path.ends_with("/old") {
        true => Wrong::RefuseWith(302, "location", format!("/{PUBLIC}/new")),
        false => Wrong::Nothing,
    });
    let url = format!("http://{}/{PUBLIC}/old", server.address);
    assert_eq!(read_all(&disk(&server, &[]), Path::new(&url), 1).unwrap(), b"moved");
}

/// Returns the error for a list of the bucket where each page is `body`.
fn list_failure(
    scheme: &str,
    body: &str,
    environment_of: impl Fn(&Server) -> Environment,
) -> String {
    let (store, body) = (store(), body.to_owned());
    let server = Server::start(&store, move |_| Wrong::Say(body.clone()));
    let prefix = format!("{scheme}://{BUCKET}/p/");
    let disk = disk_of(environment_of(&server));
    let mut ignore = |_| ControlFlow::Continue(());
    let failure = disk.list(Path::new(&prefix), &mut ignore).unwrap_err();
    let mut ignore = |_| ControlFlow::Continue(());
    let bucket = Bucket::open(Path::new(&prefix), environment_of(&server)).unwrap();
    assert_eq!(bucket.objects(&mut ignore).unwrap_err().to_string(), failure.to_string());
    failure.to_string()
}

#[test]
fn lists_of_every_store_are_checked() {
    let html = "<html><body>Sign in</body></html>";
    let s3 = |server: &Server| environment(server, &[]);
    let google = |server: &Server| with_token(server, TOKEN);
    let azure = |server: &Server| azure::with(server, &[]);
    for failure in [
        list_failure("s3", html, s3),
        list_failure("gs", html, google),
        list_failure("az", html, azure),
    ] {
        assert!(failure.contains("but <html><body>Sign in"), "{failure}");
    }
    let page = |key: &str, end: &str| {
        format!(
            "<ListBucketResult><Contents><Key>{key}</Key><Size>1</Size></Contents>\
             <IsTruncated>true</IsTruncated>{end}</ListBucketResult>"
        )
    };
    let blobs = |key: &str, end: &str| {
        format!(
            "<EnumerationResults><Blobs><Blob><Name>{key}</Name><Properties>\
             <Content-Length>1</Content-Length></Properties></Blob></Blobs>{end}\
             </EnumerationResults>"
        )
    };
    let token = "<NextContinuationToken>t</NextContinuationToken>";
    let marker = "<NextMarker>t</NextMarker>";
    for (failure, expected) in [
        (list_failure("gs", &page("p/a", ""), google), "doesn't say from where"),
        (list_failure("gs", &page("p/a", token), google), "it has p/a twice"),
        (list_failure("gs", &page("q", token), google), "doesn't begin with p/"),
        (list_failure("az", &blobs("p/a", ""), azure), "whether there is more"),
        (list_failure("az", &blobs("p/a", marker), azure), "it has p/a twice"),
        (list_failure("az", &blobs("q", "<NextMarker />"), azure), "doesn't begin with p/"),
        // The store's answer says that it belongs to another request.
        (list_failure("s3", &page("p/a", "<Name>x</Name>"), s3), "Name is x, and was bucket"),
        (list_failure("gs", &page("p/a", "<Prefix>x</Prefix>"), google), "Prefix is x"),
        (list_failure("az", &blobs("p/a", "<Prefix>x</Prefix>"), azure), "Prefix is x"),
        (
            list_failure(
                "az",
                "<EnumerationResults><Blobs><BlobPrefix><Name>p/a/</Name>\
            </BlobPrefix></Blobs><NextMarker /></EnumerationResults>",
                azure,
            ),
            "BlobPrefix",
        ),
    ] {
        let what = "the store's list can't be trusted: ";
        assert!(failure.contains(what) && failure.contains(expected), "{failure}");
    }
}

/// Two answers may have been joined into one.
#[test]
fn an_answer_with_something_after_it_is_not_taken() {
    let s3 = |server: &Server| environment(server, &[]);
    let azure = |server: &Server| azure::with(server, &[]);
    let page = "<ListBucketResult><IsTruncated>false</IsTruncated></ListBucketResult>";
    let blobs = "<EnumerationResults><Blobs /><NextMarker /></EnumerationResults>";
    for failure in [
        list_failure("s3", &format!("{page}{page}"), s3),
        list_failure("s3", &format!("{page}\n0\r\n"), s3),
        list_failure("az", &format!("{blobs}<?xml version=\"1.0\"?>{blobs}"), azure),
    ] {
        assert!(failure.contains("200 with more than a "), "{failure}");
    }
    let server = Server::start(&store(), move |_| Wrong::Say(format!("{page} <!-- end -->\n")));
    let mut ignore = |_| ControlFlow::Continue(());
    disk(&server, &[]).list(Path::new("s3://bucket/p/"), &mut ignore).unwrap();
}

/// A repeated page, or another client's page.
#[test]
fn a_page_that_answers_another_request_is_not_taken() {
    let server = Server::start(&store(), |asked: &Asked| {
        let token = asked.value("continuation-token");
        let key = if token.is_empty() { "p/a" } else { "p/b" };
        let said = if token.is_empty() { "" } else { "another" };
        Wrong::Say(format!(
            "<ListBucketResult><ContinuationToken>{said}</ContinuationToken>\
             <Contents><Key>{key}</Key><Size>1</Size></Contents><IsTruncated>{}</IsTruncated>{}\
             </ListBucketResult>",
            token.is_empty(),
            if token.is_empty() { "<NextContinuationToken>t</NextContinuationToken>" } else { "" }
        ))
    });
    let mut ignore = |_| ControlFlow::Continue(());
    let listed = disk(&server, &[]).list(Path::new("s3://bucket/p/"), &mut ignore);
    let error = listed.unwrap_err().to_string();
    assert!(error.contains("ContinuationToken is another, and was t"), "{error}");
    let uploads = "<ListMultipartUploadsResult><Prefix>q/</Prefix></ListMultipartUploadsResult>";
    let parts = "<ListPartsResult><UploadId>another</UploadId></ListPartsResult>";
    let server = Server::start(&store(), move |asked: &Asked| {
        Wrong::Say(if asked.has("uploads") { uploads } else { parts }.to_owned())
    });
    let client = connect(environment(&server, &[])).unwrap();
    let object = Location::parse(Path::new(URL)).unwrap();
    let failure = client.list_multipart(&object, &Stop::default()).unwrap_err();
    assert_eq!(failure.reason, Reason::Untrusted, "{failure:?}");
    let failure = client.list_parts(&object, "1").unwrap_err();
    assert_eq!(failure.reason, Reason::Untrusted, "{failure:?}");
}

/// Some stores don't say whether a page is the last one. The next page is then requested by the
/// last key.
#[test]
fn a_page_that_does_not_say_whether_it_is_the_last_one_is_gone_on_after() {
    let server = Server::start(&store(), |asked: &Asked| {
        let keys = ["p/a", "p/b & c", "p/d"];
        let rest = keys.into_iter().filter(|key| *key > asked.value("start-after"));
        let contents: String = rest
            .take(2)
            .map(|key| key.replace('&', "&amp;"))
            .map(|key| format!("<Contents><Key>{key}</Key><Size>1</Size></Contents>"))
            .collect();
        Wrong::Say(format!("<ListBucketResult>{contents}</ListBucketResult>"))
    });
    let listed = listed(&disk(&server, &[]), Path::new("s3://bucket/p/"));
    let expected = ["s3://bucket/p/a", "s3://bucket/p/b & c", "s3://bucket/p/d"];
    assert!(listed.iter().map(|file| &*file.path).eq(expected.map(Path::new)), "{listed:?}");
    assert_eq!(server.seen().len(), 3);
}

/// A list of uploads that returns to its beginning ends, too.
#[test]
fn a_list_of_uploads_without_an_end_is_an_error() {
    let page = "<ListMultipartUploadsResult><Upload><Key>k</Key><UploadId>1</UploadId></Upload>\
                <IsTruncated>true</IsTruncated><NextKeyMarker>k</NextKeyMarker>\
                <NextUploadIdMarker>1</NextUploadIdMarker></ListMultipartUploadsResult>";
    let server = Server::start(&store(), move |_| Wrong::Say(page.to_owned()));
    let client = connect(environment(&server, &[])).unwrap();
    let bucket = Location::parse(Path::new("s3://bucket/")).unwrap();
    let failure = client.list_multipart(&bucket, &Stop::default()).unwrap_err();
    assert_eq!(failure.reason, Reason::Untrusted, "{failure:?}");
    assert_eq!(server.seen().len(), 2);
}

/// Returns whether a request completes an upload.
fn completes(asked: &Asked) -> bool {
    asked.method == "POST" && asked.has("uploadId")
}

const PAGES: usize = (11 << 20) / PAGE;

/// An upload without confirmation is aborted, and the error says that the old object is unchanged.
#[test]
fn a_completion_without_a_result_leaves_the_old_object_and_no_upload() {
    let result = "<CompleteMultipartUploadResult><ETag>\"x-3\"</ETag>\
                  </CompleteMultipartUploadResult>";
    for (said, expected) in [
        ("", "200 with no CompleteMultipartUploadResult, but nothing"),
        ("<html>Sign in</html>", "but <html>Sign in</html>"),
        ("<CompleteMultipartUploadResult>", "200 with no CompleteMultipartUploadResult"),
        (result, "made no object of it: what was there before is as it was"),
    ] {
        for is_there in [true, false] {
            let store = store();
            if is_there {
                store.put_object(URL, "old");
            }
            let server = Server::start(&store, move |asked: &Asked| match completes(asked) {
                true => Wrong::Say(said.to_owned()),
                false => Wrong::Nothing,
            });
            let bytes = Random::new(1).bytes(PAGES * PAGE);
            let written = write_all(&disk(&server, &[]), Path::new(URL), &bytes, 0..PAGES);
            let error = written.unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
            assert!(!error.contains("is not what was written"), "{error}");
            assert_eq!(store.object(URL).as_deref(), is_there.then_some(&b"old"[..]));
            assert_eq!(store.uploads(), 0);
        }
    }
}

/// An intermediary has lost the answer or the request, once or every time.
#[test]
fn a_completion_whose_result_is_lost_is_found_out() {
    for (times, is_done) in [(1, true), (1, false), (2, false), (100, true)] {
        let (store, seen) = (store(), AtomicUsize::new(0));
        store.put_object(URL, "old");
        let server = Server::start(&store, move |asked: &Asked| {
            match completes(asked) && seen.fetch_add(1, Ordering::Relaxed) < times {
                true if is_done => Wrong::DoneAndSay("<html>"),
                true => Wrong::Say(String::new()),
                false => Wrong::Nothing,
            }
        });
        let bytes = Random::new(1).bytes(PAGES * PAGE);
        write_all(&disk(&server, &[]), Path::new(URL), &bytes, 0..PAGES).unwrap();
        assert!(store.object(URL).as_deref() == Some(&bytes[..]), "{times} {is_done}");
        assert_eq!(store.uploads(), 0);
    }
}

/// A condition that the program didn't set isn't blamed on its option.
#[test]
fn a_condition_that_was_not_set_is_not_called_no_clobber() {
    for (status, code) in [(412, "PreconditionFailed"), (409, "BlobAlreadyExists")] {
        let store = store();
        let server = Server::start(&store, move |asked: &Asked| match makes_object(asked) {
            true => Wrong::Refuse(status, code),
            false => Wrong::Nothing,
        });
        for pages in [1, PAGES] {
            for (disk, url) in disks(&server) {
                let bytes = vec![1; pages * PAGE];
                let error = write_all(&disk, Path::new(&url), &bytes, 0..pages).unwrap_err();
                let error = error.to_string();
                assert!(error.contains(code) && !error.contains("--no-clobber"), "{error}");
                assert!(error.contains("a condition that was not asked for"), "{error}");
            }
        }
        assert_eq!(store.uploads(), 0);
        // If the program set it, the option is named.
        let careful = disk_that(environment(&server, &[]), true);
        let error = write_all(&careful, Path::new(URL), &[1; PAGE], 0..1).unwrap_err();
        assert!(error.to_string().contains("--no-clobber keeps it"), "{error}");
    }
}

/// A failed condition of an upload's start or of a part isn't blamed on the object either: nothing
/// was written to it.
#[test]
fn a_condition_of_a_part_is_not_blamed_on_the_object() {
    for is_part in [false, true] {
        let store = store();
        let server = Server::start(&store, move |asked: &Asked| {
            let begins = asked.method == "POST" && asked.has("uploads");
            let sends = asked.has("partNumber") || asked.value("comp") == "block";
            match if is_part { sends } else { begins } {
                true => Wrong::Refuse(412, "PreconditionFailed"),
                false => Wrong::Nothing,
            }
        });
        for (disk, url) in disks(&server) {
            if !is_part && url.starts_with("az") {
                continue;
            }
            let bytes = vec![1; PAGES * PAGE];
            let error = write_all(&disk, Path::new(&url), &bytes, 0..PAGES).unwrap_err();
            let error = error.to_string();
            assert!(error.contains("a condition that was not asked for"), "{error}");
            assert!(!error.contains("written to since"), "{error}");
        }
        assert_eq!(store.uploads(), 0);
    }
}

/// Requests for credentials contain secrets, too: a role's token, and a machine's identity.
#[test]
fn no_redirection_of_a_request_for_credentials_is_followed() {
    let elsewhere = TcpListener::bind("127.0.0.1:0").unwrap();
    elsewhere.set_nonblocking(true).unwrap();
    let location = format!("http://{}/", elsewhere.local_addr().unwrap());
    for status in [302, 307] {
        let location = location.clone();
        let server = Server::start(&store(), move |_| {
            Wrong::RefuseWith(status, "location", location.clone())
        });
        let token = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(&token, "a token").unwrap();
        let address = format!("http://{}", server.address);
        let nobody = [("AWS_ACCESS_KEY_ID", ""), ("AWS_EC2_METADATA_DISABLED", "")];
        let container = [
            ("AWS_CONTAINER_CREDENTIALS_FULL_URI", &*address),
            ("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", token.path().to_str().unwrap()),
        ];
        let machine = [("AWS_EC2_METADATA_SERVICE_ENDPOINT", &*address), ("HOME", "/nonexistent")];
        let identity = [("AZURE_STORAGE_KEY", ""), ("IDENTITY_ENDPOINT", &*address)];
        for (url, environment) in [
            (URL, environment(&server, &[nobody, container].concat())),
            (URL, environment(&server, &[nobody, machine].concat())),
            ("az://bucket/k", azure::with(&server, &identity)),
        ] {
            let before = server.seen().len();
            let error = disk_of(environment).open_input(Path::new(url)).unwrap_err().to_string();
            assert!(error.contains("there are no credentials"), "{error}");
            assert!(server.seen().len() > before, "{error}");
        }
    }
    assert!(elsewhere.accept().is_err(), "somebody came");
}

/// An output whose URL ends in a slash is refused, like the name of a directory for a file.
#[test]
fn an_output_is_no_prefix() {
    let (_store, server) = serving();
    for scheme in ["s3", "gs", "az"] {
        let url = format!("{scheme}://bucket/dir/");
        let disk = disk(&server, &[]);
        for error in [
            disk.create_output(Path::new(&url)).unwrap_err(),
            disk.create_persistent_output(Path::new(&url), "").unwrap_err(),
        ] {
            assert!(error.to_string().contains("is a directory's"), "{error}");
        }
    }
    assert!(server.seen().is_empty());
}

/// A store without parts would take a part without an upload for a whole object.
#[test]
fn an_upload_without_a_number_is_none() {
    let begun = "<InitiateMultipartUploadResult><UploadId></UploadId>\
                 </InitiateMultipartUploadResult>";
    let server = Server::start(&store(), move |_| Wrong::Say(begun.to_owned()));
    let client = connect(environment(&server, &[])).unwrap();
    let object = Location::parse(Path::new(URL)).unwrap();
    let failure = client.create_multipart(&object, "mark").unwrap_err();
    assert_eq!(failure.reason, Reason::Unclear);
}

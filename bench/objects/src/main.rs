//! Gets an object by ranges into memory, and puts its bytes as parts: what any sort in memory from
//! object to object takes at least, as the crate object_store does it. Prints the seconds of both.
//!
//! usage: xsort-bench-objects BUCKET SOURCE TARGET CONNECTIONS PART_BYTES, with the endpoint and
//! the credentials in the environment (`AWS_ENDPOINT_URL`, `AWS_ACCESS_KEY_ID` ...)

use futures_util::{StreamExt, TryStreamExt, stream};
use object_store::aws::AmazonS3Builder;
use object_store::multipart::MultipartStore;
use object_store::path::Path;
use object_store::{ObjectStoreExt, PutPayload};
use std::time::Instant;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [bucket, source, target, connections, part_bytes] = &arguments[..] else {
        return Err("usage: BUCKET SOURCE TARGET CONNECTIONS PART_BYTES".into());
    };
    let (connections, part_bytes): (usize, u64) = (connections.parse()?, part_bytes.parse()?);
    // The HTTP client wants one, also where no connection is encrypted.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let store = AmazonS3Builder::from_env()
        .with_bucket_name(bucket)
        .with_allow_http(true)
        .with_region("us-east-1")
        .build()?;
    let (source, target) = (Path::from(&**source), Path::from(&**target));
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let begun = Instant::now();
        let bytes = store.head(&source).await?.size;
        let ranges = (0..bytes.div_ceil(part_bytes))
            .map(|part| part * part_bytes..bytes.min((part + 1) * part_bytes));
        let parts: Vec<_> = stream::iter(ranges)
            .map(|range| store.get_range(&source, range))
            .buffered(connections)
            .try_collect()
            .await?;
        let got = begun.elapsed().as_secs_f64();

        let begun = Instant::now();
        let upload = store.create_multipart(&target).await?;
        let receipts: Vec<_> = stream::iter(parts.into_iter().enumerate())
            .map(|(part, bytes)| store.put_part(&target, &upload, part, PutPayload::from(bytes)))
            .buffered(connections)
            .try_collect()
            .await?;
        store.complete_multipart(&target, &upload, receipts).await?;
        let put = begun.elapsed().as_secs_f64();
        println!("get {got:.2} s, put {put:.2} s, together {:.2} s", got + put);
        Ok(())
    })
}

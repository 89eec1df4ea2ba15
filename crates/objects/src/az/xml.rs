//! Azure's answers and requests in XML.

use super::block::BlockId;
use crate::requests::encode;
use crate::requests::xml::{Document, echoed, non_empty};
use serde::Deserialize;
use serde::de::IgnoredAny;

/// A page of a list of blobs.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct BlobPage {
    #[serde(rename = "@ContainerName")]
    container: Option<String>,
    /// The prefix of all names, according to the store.
    prefix: Option<Name>,
    /// The marker of this page, according to the store.
    marker: Option<String>,
    #[serde(default)]
    pub(super) blobs: Blobs,
    /// Empty on the last page.
    pub(super) next_marker: Option<String>,
}

impl BlobPage {
    /// Returns the blobs, if this is the requested page: the one named `page` of the blobs in
    /// `container` whose names begin with `prefix`.
    ///
    /// # Errors
    /// Says how the page differs from the requested one.
    pub(super) fn check(
        self,
        (container, prefix): (&str, &str),
        page: Option<&str>,
    ) -> Result<Vec<Blob>, String> {
        echoed("ContainerName", self.container.as_deref(), Some(container))?;
        let said = self.prefix.map(|name| name.decoded().unwrap_or_default());
        echoed("Prefix", said.as_deref(), Some(prefix))?;
        echoed("Marker", non_empty(self.marker.as_deref()), page)?;
        let blob = |entry| match entry {
            BlobEntry::Blob(blob) => Ok(*blob),
            BlobEntry::BlobPrefix(_) => {
                Err("it has prefixes in place of objects (BlobPrefix)".to_owned())
            }
        };
        self.blobs.list.into_iter().map(blob).collect()
    }
}

impl Document for BlobPage {
    const ROOT: &'static str = "EnumerationResults";
}

impl Document for BlockList {
    const ROOT: &'static str = "BlockList";
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct Blobs {
    #[serde(default, rename = "$value")]
    list: Vec<BlobEntry>,
}

#[derive(Debug, Deserialize)]
enum BlobEntry {
    Blob(Box<Blob>),
    /// A prefix in place of the blobs below it, which were not requested.
    BlobPrefix(IgnoredAny),
}

/// A blob in a list.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct Blob {
    pub(super) name: Name,
    pub(super) properties: Properties,
}

#[derive(Debug, Deserialize)]
pub(super) struct Name {
    /// Whether the name is URL-encoded, because XML can't represent some of its characters.
    #[serde(default, rename = "@Encoded")]
    pub(super) is_encoded: bool,
    #[serde(default, rename = "$text")]
    pub(super) text: String,
}

impl Name {
    /// Returns the name, decoded if it is marked as encoded. `None` if that fails.
    pub(super) fn decoded(self) -> Option<String> {
        match self.is_encoded {
            true => encode::decode(&self.text),
            false => Some(self.text),
        }
    }
}

#[derive(Debug, Deserialize)]
pub(super) struct Properties {
    #[serde(default, rename = "Content-Length")]
    pub(super) bytes: u64,
    #[serde(default, rename = "Last-Modified")]
    pub(super) modified: String,
    /// `directory`, if the account has directories.
    #[serde(default, rename = "ResourceType")]
    pub(super) resource: String,
}

/// The blocks of a name.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub(super) struct BlockList {
    pub(super) committed_blocks: Blocks,
    pub(super) uncommitted_blocks: Blocks,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct Blocks {
    #[serde(default, rename = "Block")]
    pub(super) list: Vec<Block>,
}

/// A block in a list.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct Block {
    pub(super) name: String,
    pub(super) size: u64,
}

/// Returns the list of blocks that forms an object. It names the latest block of each ID, so the
/// list can be sent again after its answer was lost, when the blocks are already part of the
/// object.
pub(super) fn completion(blocks: impl Iterator<Item = BlockId>) -> String {
    let mut text = String::from("<?xml version=\"1.0\" encoding=\"utf-8\"?><BlockList>");
    for block in blocks {
        text += &format!("<Latest>{}</Latest>", block.encoded());
    }
    text + "</BlockList>"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::requests::xml::parse;

    #[test]
    fn answers_are_read_as_azure_sends_them() {
        let page: BlobPage = parse(
            "\u{feff}<?xml version=\"1.0\" encoding=\"utf-8\"?>\
             <EnumerationResults ServiceEndpoint=\"https://me/\" ContainerName=\"c\">\
             <Prefix>x</Prefix><Blobs><Blob><Name> a &amp; b+c%20 </Name><Properties>\
             <Creation-Time>Mon, 23 Nov 2026 10:00:00 GMT</Creation-Time>\
             <Last-Modified>Mon, 23 Nov 2026 10:00:01 GMT</Last-Modified>\
             <Etag>0x8D</Etag><Content-Length>5</Content-Length><Content-MD5 /></Properties>\
             <OrMetadata /></Blob>\
             <Blob><Name Encoded=\"true\">a%EF%BF%BE</Name><Properties>\
             <ResourceType>directory</ResourceType><Content-Length>0</Content-Length></Properties>\
             </Blob></Blobs><NextMarker>2!8</NextMarker></EnumerationResults>"
                .as_bytes(),
        )
        .unwrap();
        let next_marker = page.next_marker.clone();
        let blobs = page.check(("c", "x"), None).unwrap();
        let [one, other] = &blobs[..] else { panic!("{blobs:?}") };
        assert_eq!((&*one.name.text, one.name.is_encoded), (" a & b+c%20 ", false));
        assert_eq!(one.properties.bytes, 5);
        assert_eq!(one.properties.modified, "Mon, 23 Nov 2026 10:00:01 GMT");
        assert!(other.name.is_encoded && other.properties.resource == "directory");
        assert_eq!(next_marker.as_deref(), Some("2!8"));
        let empty = b"<EnumerationResults><Blobs /><NextMarker /></EnumerationResults>";
        let page: BlobPage = parse(empty).unwrap();
        assert!(page.blobs.list.is_empty() && page.next_marker.as_deref() == Some(""));
        let cut: BlobPage = parse(b"<EnumerationResults><Blobs /></EnumerationResults>").unwrap();
        assert_eq!(cut.next_marker, None);
    }

    #[test]
    fn a_page_of_another_request_is_not_taken() {
        let wrong = |attribute: &str, more: &str, page| {
            let text = format!(
                "<EnumerationResults {attribute}>{more}<NextMarker /></EnumerationResults>"
            );
            parse::<BlobPage>(text.as_bytes()).unwrap().check(("c", "p/"), page).err()
        };
        let whole = "<Prefix>p/</Prefix><Marker>m</Marker><Blobs />";
        assert_eq!(wrong("ContainerName=\"c\"", whole, Some("m")), None);
        assert_eq!(wrong("", "<Prefix Encoded=\"true\">p%2F</Prefix>", None), None);
        for wrong in [
            wrong("ContainerName=\"d\"", "", None),
            wrong("", "<Prefix>q</Prefix>", None),
            wrong("", "<Marker>n</Marker>", Some("m")),
        ] {
            assert!(wrong.as_ref().unwrap().contains("of another request"), "{wrong:?}");
        }
        let blob = "<Blob><Name>p/a</Name><Properties /></Blob>";
        let prefix = "<BlobPrefix><Name>p/b/</Name></BlobPrefix>";
        for blobs in [prefix.to_owned(), format!("{blob}{prefix}{blob}")] {
            let found = wrong("", &format!("<Blobs>{blobs}</Blobs>"), None);
            assert!(found.unwrap().contains("BlobPrefix"));
        }
    }

    #[test]
    fn blocks_are_read_whether_they_are_committed_or_not() {
        let there: BlockList = parse(
            b"<?xml version=\"1.0\"?><BlockList><CommittedBlocks><Block><Name>YQ==</Name>\
              <Size>3</Size></Block></CommittedBlocks><UncommittedBlocks /></BlockList>",
        )
        .unwrap();
        assert_eq!(
            (&*there.committed_blocks.list[0].name, there.committed_blocks.list[0].size),
            ("YQ==", 3)
        );
        assert!(there.uncommitted_blocks.list.is_empty());
        let there: BlockList = parse(b"<BlockList></BlockList>").unwrap();
        assert!(there.committed_blocks.list.is_empty());
    }
}

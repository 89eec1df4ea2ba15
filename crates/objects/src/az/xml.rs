//! Azure's answers and requests in XML.

use super::block::BlockId;
use crate::requests::xml::Document;
use serde::Deserialize;

/// A page of a list of blobs.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct BlobPage {
    #[serde(default)]
    pub(super) blobs: Blobs,
    /// Empty on the last page.
    pub(super) next_marker: Option<String>,
}

impl Document for BlobPage {
    const ROOT: &'static str = "EnumerationResults";
}

impl Document for BlockList {
    const ROOT: &'static str = "BlockList";
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct Blobs {
    #[serde(default, rename = "Blob")]
    pub(super) list: Vec<Blob>,
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
        let [one, other] = &page.blobs.list[..] else { panic!("{page:?}") };
        assert_eq!((&*one.name.text, one.name.is_encoded), (" a & b+c%20 ", false));
        assert_eq!(one.properties.bytes, 5);
        assert_eq!(one.properties.modified, "Mon, 23 Nov 2026 10:00:01 GMT");
        assert!(other.name.is_encoded && other.properties.resource == "directory");
        assert_eq!(page.next_marker.as_deref(), Some("2!8"));
        let empty = b"<EnumerationResults><Blobs /><NextMarker /></EnumerationResults>";
        let page: BlobPage = parse(empty).unwrap();
        assert!(page.blobs.list.is_empty() && page.next_marker.as_deref() == Some(""));
        let cut: BlobPage = parse(b"<EnumerationResults><Blobs /></EnumerationResults>").unwrap();
        assert_eq!(cut.next_marker, None);
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

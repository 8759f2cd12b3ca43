package kept

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"

	"mcp-all-in-one/internal/jsonrpc"
)

// A Cutter shortens one result of a tool and keeps the rest.
type Cutter struct {
	// Text is the size above which a text is shown in part. Blob is the size
	// above which an image, audio or blob is replaced by a link. 0 means no
	// limit.
	Text, Blob int64
	// Head and Tail are how much of the beginning and the end of a text is shown.
	Head, Tail int64
	// Structured says that structuredContent larger than Text may be dropped.
	Structured bool
	// Links says that the client supports resource_link.
	Links bool
	// Reader is the tool that reads what was kept.
	Reader string
	// Keep stores a text or a content block. If it fails, the data is passed on
	// whole: a URI is given out only for stored data.
	Keep func(data []byte, block bool) (uri string, err error)

	// Left are the omitted parts of texts; Blobs is the size of the omitted
	// blobs.
	Left  [][]byte
	Blobs int64

	whole []string // the texts that were shortened
}

// Small reports whether a result of the given size is within the limits for texts
// and for blobs, so that nothing is cut; 0 means no limit.
func Small(size int, text, blob int64) bool {
	return (text <= 0 || int64(size) <= text) && (blob <= 0 || int64(size) <= blob)
}

// Result returns a result without its large parts. The other parts stay unchanged
// and in order.
func (k *Cutter) Result(result []byte) []byte {
	content := jsonrpc.Get(result, "content")
	if len(content) == 0 || content[0] != '[' {
		return result
	}
	blocks := k.blocks(content)
	structured := jsonrpc.Get(result, "structuredContent")
	drop := k.Structured && k.Text > 0 && int64(len(structured)) > k.Text
	if drop && !k.repeats(structured) {
		shown := k.text([]byte(`{"type":"text"}`), string(structured))
		if drop = shown != nil; drop {
			blocks = append(blocks, shown)
		}
	}
	if len(k.whole) == 0 && k.Blobs == 0 {
		return result
	}
	result = jsonrpc.Set(result, append(append([]byte{'['}, bytes.Join(blocks, []byte{','})...), ']'), "content")
	if drop {
		result = jsonrpc.Set(result, nil, "structuredContent")
	}
	return result
}

// blocks returns the content blocks as they are shown. A shortened text may
// become two blocks, joined by a comma.
func (k *Cutter) blocks(content []byte) [][]byte {
	var blocks [][]byte
	for block := range jsonrpc.Elements(content) {
		shown := block
		if !Small(len(block), k.Text, k.Blob) {
			if short := k.block(block); short != nil {
				shown = short
			}
		}
		blocks = append(blocks, shown)
	}
	return blocks
}

// block returns the shortened form of one content block; nil if it is shown
// whole.
func (k *Cutter) block(block []byte) []byte {
	if kind, _ := jsonrpc.GetString(block, "type"); kind != "text" {
		return k.blob(block)
	}
	text, ok := jsonrpc.GetString(block, "text")
	if !ok || k.Text <= 0 || int64(len(text)) <= k.Text {
		return nil
	}
	return k.text(block, text)
}

// text returns a text block with part of a text, and a link to the whole text.
func (k *Cutter) text(block []byte, text string) []byte {
	whole := []byte(text)
	uri, err := k.Keep(whole, false)
	if err != nil {
		return nil
	}
	k.whole = append(k.whole, text)
	head, tail, left := HeadTail(whole, min(k.Head, k.Text), min(k.Tail, k.Text))
	k.Left = append(k.Left, whole[len(head):len(head)+int(left)])
	shown := string(head) + Marker(left, int64(len(text)), Shape(whole), uri, k.Reader) + string(tail)
	block = jsonrpc.Set(block, jsonrpc.Quote(shown), "text")
	if !k.Links {
		return block
	}
	mime := "text/plain"
	if t := strings.TrimSpace(text); t != "" && (t[0] == '{' || t[0] == '[') {
		mime = "application/json"
	}
	return append(append(block, ','), link(uri, "whole result", mime, len(text))...)
}

// blob returns a link in place of an image, audio or blob; nil if the block is
// something else or small.
func (k *Cutter) blob(block []byte) []byte {
	mime, data := Blob(block)
	size := base64.StdEncoding.DecodedLen(len(data))
	if k.Blob <= 0 || int64(size) <= k.Blob {
		return nil
	}
	uri, err := k.Keep(block, true)
	if err != nil {
		return nil
	}
	k.Blobs += int64(size)
	if !k.Links {
		text := fmt.Sprintf("… %s of %s bytes left out. Whole: %s; use %s(result).", mime, grouped(int64(size)), uri, k.Reader)
		return fmt.Appendf(nil, `{"type":"text","text":%s}`, jsonrpc.Quote(text))
	}
	name, ok := jsonrpc.GetString(block, "resource", "uri")
	if !ok {
		name, _ = jsonrpc.GetString(block, "type")
	}
	return link(uri, name, mime, size)
}

func link(uri, name, mime string, size int) []byte {
	return fmt.Appendf(nil, `{"type":"resource_link","uri":%s,"name":%s,"mimeType":%s,"size":%d}`, jsonrpc.Quote(uri), jsonrpc.Quote(name), jsonrpc.Quote(mime), size)
}

// Blob returns the MIME type and the base64 data of an image, audio or blob;
// empty for other content blocks.
func Blob(block []byte) (mime, data string) {
	switch kind, _ := jsonrpc.GetString(block, "type"); kind {
	case "image", "audio":
		data, _ = jsonrpc.GetString(block, "data")
	case "resource":
		block = jsonrpc.Get(block, "resource")
		data, _ = jsonrpc.GetString(block, "blob")
	}
	if data == "" {
		return "", ""
	}
	if mime, _ = jsonrpc.GetString(block, "mimeType"); mime == "" {
		mime = "application/octet-stream"
	}
	return mime, data
}

// repeats reports whether one of the shortened texts is the same JSON.
func (k *Cutter) repeats(structured []byte) bool {
	var one bytes.Buffer
	if json.Compact(&one, structured) != nil {
		return false
	}
	for _, text := range k.whole {
		var other bytes.Buffer
		if json.Compact(&other, []byte(text)) == nil && bytes.Equal(one.Bytes(), other.Bytes()) {
			return true
		}
	}
	return false
}

package kept

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"

	"mcp-all-in-one/internal/jsonrpc"
)

// A Cutter shows one result of a tool in part and keeps the rest.
type Cutter struct {
	// Text is the size above which a text is shown in part, Blob the size above
	// which a picture, a sound or a blob is shown as a link; 0 is none.
	Text, Blob int64
	// Head and Tail are how much of a text is shown.
	Head, Tail int64
	// Structured says that structuredContent over Text may be dropped.
	Structured bool
	// Links says that the client knows resource_link.
	Links bool
	// Keep keeps a text, or a content block. What it refuses passes whole: a
	// handle is given only for what is stored.
	Keep func(data []byte, block bool) (uri string, err error)

	// Left are the texts that were left out, Blobs the size of the blobs.
	Left  [][]byte
	Blobs int64

	whole []string // the texts that were cut
}

// Small says that nothing of a result of that size is cut, with these limits for
// texts and for blobs; 0 is no limit.
func Small(size int, text, blob int64) bool {
	return (text <= 0 || int64(size) <= text) && (blob <= 0 || int64(size) <= blob)
}

// Result is a result with its large parts left out; the others stay as they
// are, in order.
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

// blocks are the content blocks as they are shown. A text that was cut may be
// two, with a comma between them.
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

// block is what is shown of one content block; nil for all of it.
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

// text is a text block that shows a text in part, and a link to the whole.
func (k *Cutter) text(block []byte, text string) []byte {
	whole := []byte(text)
	uri, err := k.Keep(whole, false)
	if err != nil {
		return nil
	}
	k.whole = append(k.whole, text)
	head, tail, left := HeadTail(whole, min(k.Head, k.Text), min(k.Tail, k.Text))
	k.Left = append(k.Left, whole[len(head):len(head)+int(left)])
	shown := string(head) + Marker(left, int64(len(text)), Shape(whole), uri) + string(tail)
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

// blob is a link in place of a picture, a sound or a blob; nil where the block
// is none, or small.
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
		text := fmt.Sprintf("… %s of %s bytes left out. Whole: %s; use read(result).", mime, grouped(int64(size)), uri)
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

// Blob is the type and the base64 text of a picture, a sound or a blob; empty
// for any other content block.
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

// repeats says whether one of the texts that were cut is the same JSON.
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

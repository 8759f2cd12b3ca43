package install

import (
	"bytes"
	"encoding/binary"
	"path/filepath"
	"strings"
	"testing"

	"mcp-all-in-one/internal/mcptest/must"
)

// Bundles that the official tool signed, with a certificate of its own making
// and with one of an authority, as they are and changed.
func TestSignature(t *testing.T) {
	read := func(name string) []byte {
		t.Helper()
		return []byte(must.Read(t, filepath.Join("testdata", "bundles", name)))
	}
	open := func(t *testing.T, data []byte) (*Bundle, error) {
		t.Helper()
		b, err := FetchBundle(t.Context(), put(t, data), "")
		if err == nil {
			t.Cleanup(b.Close)
		}
		return b, err
	}
	for name, want := range map[string]Signature{
		"hello-signed.mcpb": {Subject: "CN=MCPB Self-Signed Certificate,O=MCPB Extensions,C=US", SelfSigned: true},
		"hello-chain.mcpb":  {Subject: "CN=Hello Publisher,O=Hello Ltd"},
	} {
		t.Run("install/signature/"+name, func(t *testing.T) {
			b, err := open(t, read(name))
			if err != nil {
				t.Fatal(err)
			}
			if s := b.Signature; s == nil || s.Subject != want.Subject || s.SelfSigned != want.SelfSigned || s.Untrusted == nil || len(s.SHA256) != 64 {
				t.Errorf("got %+v", s)
			}
		})
	}
	signed, plain := read("hello-chain.mcpb"), read("hello.mcpb")
	other := []byte(must.Read(t, packed(t, nil, "manifest.json", goodManifest, "i.js", "evil()")))
	block := signed[len(plain):]
	// framed returns an archive with a signature block that has its right length.
	framed := func(archive, data []byte) []byte {
		out := append(bytes.Clone(archive), signatureHead...)
		out = binary.LittleEndian.AppendUint32(out, uint32(len(data)))
		return append(append(out, data...), signatureTail...)
	}
	data := block[len(signatureHead)+4 : len(block)-len(signatureTail)]
	if !bytes.Equal(framed(plain, data), signed) {
		t.Fatal("the form of the block is another")
	}
	flipped := bytes.Clone(signed)
	flipped[100] ^= 1
	damaged := bytes.Clone(data)
	damaged[len(damaged)-20] ^= 1 // in the signature
	for id, tt := range map[string]struct {
		data []byte
		want string
	}{
		"another archive":   {framed(other, data), "the hash of the bundle is another"},
		"one byte":          {flipped, "the hash of the bundle is another"},
		"another signature": {framed(plain, damaged), "verification error"},
		"no signature":      {framed(plain, nil), "its signature does not fit"},
		"length":            {append(append(append(bytes.Clone(plain), signatureHead...), 9, 9, 9, 9), signatureTail...), "another length"},
		"no beginning":      {append(bytes.Clone(plain), signatureTail...), "no beginning"},
	} {
		t.Run("install/signature/"+id, func(t *testing.T) {
			if _, err := open(t, tt.data); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
	t.Run("install/signature/an archive inside it", func(t *testing.T) {
		b, err := open(t, framed(plain, append(bytes.Clone(data), other...)))
		if err != nil || b.Manifest.Name != "hello-mcp" {
			t.Errorf("got %+v, %v, want what was signed", b, err)
		}
	})
}

package release

import (
	"os"
	"path/filepath"
	"testing"

	"aead.dev/minisign"
)

// TestSignature signs a list like a release, with minisign itself, and checks
// it like upgrade.
func TestSignature(t *testing.T) {
	t.Run("get/signature", func(t *testing.T) {
		dir := t.TempDir()
		public, secret, list := filepath.Join(dir, "release.pub"), filepath.Join(dir, "release.key"), filepath.Join(dir, "SHA256SUMS")
		must(t, nil, "minisign", "-G", "-W", "-p", public, "-s", secret)
		if err := os.WriteFile(list, []byte("0000  file\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		must(t, nil, "make", "-C", filepath.Join("..", ".."), "release-minisign", "RELEASE="+dir, "SIGN_KEY="+secret)
		key, err := minisign.PublicKeyFromFile(public)
		if err != nil {
			t.Fatal(err)
		}
		// The compiled-in key is one line.
		var again minisign.PublicKey
		if err := again.UnmarshalText([]byte(key.String())); err != nil || !again.Equal(key) {
			t.Errorf("the key in one line: %v", err)
		}
		signed, err := os.ReadFile(list + ".minisig")
		if err != nil {
			t.Fatal(err)
		}
		if !minisign.Verify(again, []byte("0000  file\n"), signed) || minisign.Verify(again, []byte("0001  file\n"), signed) {
			t.Error("the signature says something else")
		}
	})
}

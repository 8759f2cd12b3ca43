package must

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"testing"
)

// TarGzip returns an archive of executable files, by name.
func TarGzip(t testing.TB, files map[string]string) []byte {
	t.Helper()
	var buf bytes.Buffer
	z := gzip.NewWriter(&buf)
	w := tar.NewWriter(z)
	for name, content := range files {
		OK(t, w.WriteHeader(&tar.Header{Name: name, Mode: 0o755, Size: int64(len(content))}))
		if _, err := w.Write([]byte(content)); err != nil {
			t.Fatal(err)
		}
	}
	OK(t, w.Close())
	OK(t, z.Close())
	return buf.Bytes()
}

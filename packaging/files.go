package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"cmp"
	"compress/gzip"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// A file is an entry of an archive. A link has a target and no data. The name
// of a folder ends in a slash.
type file struct {
	name string
	mode fs.FileMode
	data []byte
	link string
	uid  int
}

func (f file) dir() bool { return f.name[len(f.name)-1] == '/' }

// inOrder sorts entries, so that the same content gives the same bytes.
func inOrder(files []file) []file {
	return slices.SortedFunc(slices.Values(files), func(a, b file) int { return cmp.Compare(a.name, b.name) })
}

// tarOf returns a tar archive in which all entries have the same time.
func tarOf(files []file, at time.Time) ([]byte, error) {
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, f := range inOrder(files) {
		h := &tar.Header{Name: f.name, Mode: int64(f.mode.Perm()), Size: int64(len(f.data)), ModTime: at, Typeflag: tar.TypeReg, Uid: f.uid, Gid: f.uid, Format: tar.FormatUSTAR}
		if f.mode&fs.ModeSticky != 0 {
			h.Mode |= 0o1000
		}
		switch {
		case f.link != "":
			h.Typeflag, h.Linkname = tar.TypeSymlink, f.link
		case f.dir():
			h.Typeflag = tar.TypeDir
		}
		if err := w.WriteHeader(h); err != nil {
			return nil, err
		}
		if _, err := w.Write(f.data); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// gzipOf compresses without a name and a time.
func gzipOf(data []byte) ([]byte, error) {
	var out bytes.Buffer
	w, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(data); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

func tarGzOf(files []file, at time.Time) ([]byte, error) {
	data, err := tarOf(files, at)
	if err != nil {
		return nil, err
	}
	return gzipOf(data)
}

func zipOf(files []file, at time.Time) ([]byte, error) {
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, f := range inOrder(files) {
		h := &zip.FileHeader{Name: f.name, Method: zip.Deflate, Modified: at}
		h.SetMode(f.mode)
		part, err := w.CreateHeader(h)
		if err != nil {
			return nil, err
		}
		if _, err := io.Copy(part, bytes.NewReader(f.data)); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// under moves entries to a folder.
func under(folder string, files []file) []file {
	moved := slices.Clone(files)
	for i := range moved {
		moved[i].name = folder + "/" + moved[i].name
	}
	return moved
}

// readFile reads one entry from the source tree.
func readFile(as, path string) (file, error) {
	data, err := os.ReadFile(path)
	return file{name: as, mode: 0o644, data: data}, err
}

// writeAll writes entries into a folder.
func writeAll(folder string, files []file) error {
	for _, f := range files {
		path := filepath.Join(folder, filepath.FromSlash(f.name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, f.data, f.mode); err != nil {
			return err
		}
	}
	return nil
}

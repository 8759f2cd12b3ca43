package upgrade

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"path"
	"strings"

	"mcp-all-in-one/internal/i18n"
)

// unpack returns the program from an archive of a release.
func unpack(archive string, data []byte) ([]byte, error) {
	read := fromTar
	if strings.HasSuffix(archive, ".zip") {
		read = fromZip
	}
	program, err := read(data)
	if err != nil {
		return nil, i18n.Errorf("reading %s: %w", "读取 %s 失败：%w", archive, err)
	}
	return program, nil
}

var errNoProgram = i18n.Errorf("the program is not in it", "其中没有程序")

func fromTar(data []byte) ([]byte, error) {
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil, errNoProgram
		}
		if err != nil {
			return nil, err
		}
		if h.Typeflag == tar.TypeReg && path.Base(h.Name) == name {
			return io.ReadAll(io.LimitReader(r, maxFile))
		}
	}
}

func fromZip(data []byte) ([]byte, error) {
	z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, err
	}
	for _, f := range z.File {
		if path.Base(f.Name) == name+".exe" {
			r, err := f.Open()
			if err != nil {
				return nil, err
			}
			defer r.Close()
			return io.ReadAll(io.LimitReader(r, maxFile))
		}
	}
	return nil, errNoProgram
}

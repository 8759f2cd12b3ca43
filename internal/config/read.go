package config

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"mcp-all-in-one/internal/config/document"
	"mcp-all-in-one/internal/config/problem"
	"mcp-all-in-one/internal/disk"
	"mcp-all-in-one/internal/i18n"
)

const (
	maxFile       = 16 << 20 // a config file
	maxSecretFile = 1 << 20  // what ${file:...} reads
)

// readFile reads a config file and reports what is wrong with the file
// itself; false when it cannot be used.
func readFile(found Found, insecure bool, c *problem.List) ([]byte, bool) {
	data, info, err := disk.Read(found.Path, maxFile)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		p := c.Add(problem.SeverityError, problem.Pos{}, "", problem.NotFound)
		p.Hint, p.HintZH = "create it, or name another with --config", "请创建该文件，或用 --config 指定其他文件"
		return nil, false
	case errors.Is(err, disk.ErrNotRegular):
		c.Add(problem.SeverityError, problem.Pos{}, "", problem.NotRegular, fileKind(info))
		return nil, false
	case errors.Is(err, disk.ErrTooLarge):
		c.Add(problem.SeverityError, problem.Pos{}, "", problem.TooLarge, formatSize(maxFile))
		return nil, false
	case err != nil:
		c.Add(problem.SeverityError, problem.Pos{}, "", problem.Unreadable, plainError(err))
		return nil, false
	}
	checkOwner(found, info, insecure, c)
	return decodeText(data, c)
}

// checkOwner refuses a file that others may write, because writing it is
// running commands as us. Of a file of the working tree only that is used
// which a person has approved, so a group may share it.
func checkOwner(found Found, info fs.FileInfo, insecure bool, c *problem.List) {
	fault := disk.WritableByOthers(found.Path, info)
	if fault.Empty() {
		return
	}
	world := disk.IsWorldWritable(info)
	sev := problem.SeverityError
	if insecure || found.Project && !world {
		sev = problem.SeverityWarning
	}
	if world {
		c.Add(sev, problem.Pos{}, "", problem.WorldWrite, fmt.Sprintf("%04o", info.Mode().Perm()))
		return
	}
	c.Add(sev, problem.Pos{}, "", problem.Owner, fault)
}

// decodeText strips a byte order mark and refuses what is not UTF-8.
func decodeText(data []byte, c *problem.List) ([]byte, bool) {
	switch {
	case bytes.HasPrefix(data, []byte{0xFF, 0xFE}), bytes.HasPrefix(data, []byte{0xFE, 0xFF}):
		c.Add(problem.SeverityError, problem.Pos{Line: 1, Col: 1}, "", problem.Encoding, "UTF-16")
		return nil, false
	case len(data) >= 2 && (data[0] == 0) != (data[1] == 0):
		c.Add(problem.SeverityError, problem.Pos{Line: 1, Col: 1}, "", problem.Encoding, i18n.New("UTF-16 without a byte order mark", "无字节序标记的 UTF-16"))
		return nil, false
	}
	data = bytes.TrimPrefix(data, []byte("\xEF\xBB\xBF"))
	for i := 0; i < len(data); {
		r, size := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && size == 1 {
			c.Add(problem.SeverityError, document.NewLines(data).Pos(i), "", problem.Encoding, i18n.New("byte 0x%02X", "字节 0x%02X", data[i]))
			return nil, false
		}
		i += size
	}
	if len(bytes.TrimSpace(data)) == 0 {
		c.Add(problem.SeverityError, problem.Pos{Line: 1, Col: 1}, "", problem.Empty)
		return nil, false
	}
	return data, true
}

// formatOf tells the format by the file's name, else by its first character.
func formatOf(path string, data []byte) document.Format {
	switch strings.ToLower(filepath.Ext(path)) {
	case ".yaml", ".yml":
		return document.FormatYAML
	case ".json", ".jsonc", ".json5":
		return document.FormatJSON
	}
	for _, line := range bytes.Split(data, []byte("\n")) {
		line = bytes.TrimSpace(line)
		if len(line) == 0 {
			continue
		}
		if line[0] == '{' || line[0] == '[' || bytes.HasPrefix(line, []byte("//")) || bytes.HasPrefix(line, []byte("/*")) {
			return document.FormatJSON
		}
		return document.FormatYAML
	}
	return document.FormatJSON
}

func fileKind(info fs.FileInfo) i18n.Text {
	switch m := info.Mode(); {
	case m.IsDir():
		return i18n.New("a directory", "目录")
	case m&fs.ModeNamedPipe != 0:
		return i18n.New("a pipe", "管道")
	case m&fs.ModeDevice != 0:
		return i18n.New("a device", "设备")
	case m&fs.ModeSocket != 0:
		return i18n.New("a socket", "套接字")
	}
	return i18n.New("something else", "其他类型")
}

// plainError drops the path that a problem names already.
func plainError(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}

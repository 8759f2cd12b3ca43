package config

import (
	"errors"
	"fmt"
	"io/fs"

	"mcp-all-in-one/internal/config/document"
	"mcp-all-in-one/internal/config/problem"
	"mcp-all-in-one/internal/config/units"
	"mcp-all-in-one/internal/disk"
	"mcp-all-in-one/internal/i18n"
)

// readFile reads a config file and reports problems of the file itself. It
// returns false if the file cannot be used.
func readFile(found Found, insecure bool, c *problem.List) ([]byte, bool) {
	data, info, err := disk.Read(found.Path, document.MaxBytes)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		p := c.Add(problem.SeverityError, problem.Pos{}, "", problem.NotFound)
		p.Hint, p.HintZH = "create it, or name another with --config", "请创建该文件，或用 --config 指定其他文件"
		return nil, false
	case errors.Is(err, disk.ErrNotRegular):
		c.Add(problem.SeverityError, problem.Pos{}, "", problem.NotRegular, fileKind(info))
		return nil, false
	case errors.Is(err, disk.ErrTooLarge):
		c.Add(problem.SeverityError, problem.Pos{}, "", problem.TooLarge, units.FormatSize(document.MaxBytes))
		return nil, false
	case err != nil:
		c.Add(problem.SeverityError, problem.Pos{}, "", problem.Unreadable, problem.WithoutPath(err))
		return nil, false
	}
	checkOwner(found, info, insecure, c)
	return document.Decode(data, c)
}

// checkOwner refuses a file that others can write, because writing it means
// running commands as this user. A file of the working tree may be writable by
// a group, because only approved entries of it are used.
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

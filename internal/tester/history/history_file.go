package history

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"mcp-all-in-one/internal/disk"
	"mcp-all-in-one/internal/i18n"
)

var errNotHistory = i18n.Errorf("this is not an exported history", "这不是导出的历史记录")

const (
	// maxHistoryFile is the size at which the file is rewritten with the newest
	// runs; keptHistoryFile limits its size afterwards.
	maxHistoryFile  = 8 << 20
	keptHistoryFile = 4 << 20
)

// A historyFile is a file of runs, one line of JSON each, to which several
// processes append.
type historyFile struct {
	path string
	// seen is the file that was last read, up to offset.
	seen   os.FileInfo
	offset int64
}

// appendRun appends the line of a run.
func appendRun(dst []byte, k *KeptRun) []byte {
	saved := *k
	if len(saved.Result) > maxSavedResult {
		saved.Result, saved.Kept = nil, false
	}
	line, err := json.Marshal(&saved)
	if err != nil {
		// A result that is not JSON cannot be stored.
		saved.Params, saved.Result, saved.Error, saved.Kept = nil, nil, nil, false
		line, _ = json.Marshal(&saved)
	}
	return append(append(dst, line...), '\n')
}

// add adds a run to the file.
func (f *historyFile) add(k *KeptRun) error {
	if f.path == "" {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(f.path), 0o700); err != nil {
		return i18n.Errorf("writing the history: %w", "写入历史记录失败：%w", err)
	}
	unlock, err := disk.Lock(f.path)
	if err != nil {
		return i18n.Errorf("writing the history: %w", "写入历史记录失败：%w", err)
	}
	defer unlock()
	size, err := appendLine(f.path, appendRun(nil, k))
	if err == nil && size > maxHistoryFile {
		err = shorten(f.path)
	}
	if err != nil {
		return i18n.Errorf("writing the history: %w", "写入历史记录失败：%w", err)
	}
	return nil
}

// appendLine appends a line. If a crash has truncated the last line, it starts
// a new one.
func appendLine(path string, line []byte) (size int64, err error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o600)
	if err != nil {
		return 0, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return 0, err
	}
	var last [1]byte
	if info.Size() > 0 {
		if _, err := file.ReadAt(last[:], info.Size()-1); err == nil && last[0] != '\n' {
			line = append([]byte{'\n'}, line...)
		}
	}
	n, err := file.Write(line)
	return info.Size() + int64(n), err
}

// shorten keeps only the newest runs in the file.
func shorten(path string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	lines := bytes.SplitAfter(data, []byte("\n"))
	from, kept := len(lines), 0
	for from > 0 && len(lines)-from < MaxRuns && kept+len(lines[from-1]) <= keptHistoryFile {
		from--
		kept += len(lines[from])
	}
	return disk.Replace(disk.OS{}, path, bytes.Join(lines[from:], nil), 0o600)
}

func (f *historyFile) clear() error {
	if f.path == "" {
		return nil
	}
	if _, err := os.Stat(f.path); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	unlock, err := disk.Lock(f.path)
	if err != nil {
		return err
	}
	defer unlock()
	return disk.Replace(disk.OS{}, f.path, nil, 0o600)
}

// refresh reads the runs that any process has written since the last call.
func (h *History) refresh() error {
	f := &h.file
	if f.path == "" {
		return nil
	}
	file, err := os.Open(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return i18n.Errorf("reading the history: %w", "读取历史记录失败：%w", err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return i18n.Errorf("reading the history: %w", "读取历史记录失败：%w", err)
	}
	var before map[string]*KeptRun
	if f.seen != nil && (!os.SameFile(f.seen, info) || info.Size() < f.offset) {
		before = h.startOver()
	}
	f.seen = info
	if info.Size() == f.offset {
		return nil
	}
	if _, err := file.Seek(f.offset, io.SeekStart); err != nil {
		return i18n.Errorf("reading the history: %w", "读取历史记录失败：%w", err)
	}
	err = h.readLines(bufio.NewReader(file))
	for _, k := range h.runs {
		if old := before[k.ID]; old != nil && old != k {
			// The file holds less of the run than memory did.
			h.bytes -= k.size()
			k.Result, k.Wire, k.Kept = old.Result, old.Wire, old.Kept
			h.bytes += k.size()
		}
	}
	slices.SortStableFunc(h.runs, func(x, y *KeptRun) int { return x.Start.Compare(y.Start) })
	return err
}

// startOver removes the runs that came from the file, and returns them: a
// process has cleared or shortened the file. Running and quiet runs stay.
func (h *History) startOver() map[string]*KeptRun {
	h.file.offset = 0
	before := make(map[string]*KeptRun)
	h.runs = slices.DeleteFunc(h.runs, func(k *KeptRun) bool {
		if k.Status == "running" || k.Quiet {
			return false
		}
		before[k.ID] = k
		h.bytes -= k.size()
		return true
	})
	return before
}

func (h *History) readLines(lines *bufio.Reader) error {
	for {
		line, err := lines.ReadBytes('\n')
		if err == io.EOF {
			return nil // the line is not complete yet
		}
		if err != nil {
			return i18n.Errorf("reading the history: %w", "读取历史记录失败：%w", err)
		}
		h.file.offset += int64(len(line))
		var k KeptRun
		// A line that was truncated by a crash is skipped.
		if json.Unmarshal(line, &k) == nil && k.ID != "" {
			h.put(&k)
		}
	}
}

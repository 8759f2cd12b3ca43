package service

import (
	"bytes"
	"context"
	"io"
	"os"
	"time"

	"mcp-all-in-one/internal/i18n"
)

// tailBytes is how many bytes at the end of a log are searched.
const tailBytes = 1 << 20

// tail writes the last lines of a file. With follow it continues with new
// content until ctx is done.
func tail(ctx context.Context, out io.Writer, path string, lines int, follow bool) error {
	f, err := os.Open(path)
	if err != nil {
		return i18n.Errorf("reading the log: %w", "读取日志失败：%w", err)
	}
	defer f.Close()
	end, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	if _, err := f.Seek(max(0, end-tailBytes), io.SeekStart); err != nil {
		return err
	}
	data, err := io.ReadAll(f)
	if err != nil {
		return err
	}
	if _, err := out.Write(lastLines(data, lines)); err != nil || !follow {
		return err
	}
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			if _, err := io.Copy(out, f); err != nil {
				return err
			}
		}
	}
}

// lastLines returns the last n lines.
func lastLines(data []byte, n int) []byte {
	at := len(data)
	for ; n > 0 && at > 0; n-- {
		at = bytes.LastIndexByte(data[:at-1], '\n') + 1
	}
	return data[at:]
}

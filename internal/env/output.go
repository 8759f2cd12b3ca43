package env

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"runtime"
	"sync"
	"syscall"

	"mcp-all-in-one/internal/i18n"
)

// An output is standard output. The first error of writing to it ends the run.
type output struct {
	io.Writer
	cancel context.CancelCauseFunc
	mu     sync.Mutex
	err    error
}

// WatchOutput makes the first error of writing to standard output end the run.
// The returned context ends with it.
func WatchOutput(ctx context.Context, a *Env) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	a.Stdout = &output{Writer: a.Stdout, cancel: cancel}
	return ctx, func() { cancel(nil) }
}

func (o *output) Write(p []byte) (int, error) {
	n, err := o.Writer.Write(p)
	if err == nil {
		return n, nil
	}
	if at, ok := errors.AsType[*fs.PathError](err); ok {
		err = at.Err
	}
	err = i18n.Errorf("writing standard output: %w", "写入标准输出失败：%w", err)
	o.lose(err)
	return n, err
}

func (o *output) lose(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err == nil {
		o.err = err
		o.cancel(err)
	}
}

// Lose reports that something could not be written that the user asked for. The
// run ends with this error.
func Lose(a *Env, err error) {
	if o, ok := a.Stdout.(*output); ok {
		o.lose(err)
	}
}

// Lost returns the error of a run: the first error of writing, if there was one,
// otherwise err.
func Lost(a *Env, err error) error {
	o, ok := a.Stdout.(*output)
	if !ok {
		return err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case o.err == nil:
		return err
	case brokenPipe(o.err):
		return Silent(exitPipe) // the reader has had enough, and wants no message
	case errors.Is(err, o.err):
		return err // it says more
	}
	return o.err
}

// brokenPipe reports whether the reader of the output has closed it.
func brokenPipe(err error) bool {
	const brokenPipe, noData = syscall.Errno(109), syscall.Errno(232) // of Windows
	return errors.Is(err, syscall.EPIPE) || runtime.GOOS == "windows" && (errors.Is(err, brokenPipe) || errors.Is(err, noData))
}

// OutlivePipe makes a broken pipe an error of writing, instead of a signal that
// ends the program at once: the caller has something to tidy up.
func OutlivePipe() { signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) }

// Stream returns a stream as the program got it. Errors of writing to it do not
// end the run.
func Stream(w io.Writer) io.Writer {
	if o, ok := w.(*output); ok {
		return o.Writer
	}
	return w
}

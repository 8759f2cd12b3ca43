package stdio

import (
	"io"
	"os"
	"sync/atomic"

	"mcp-all-in-one/internal/stdio/lines"
)

// Serve returns the stream over the streams of a program, which are usually the
// process's own standard input and output.
//
// If input is a pipe or a socket, Close makes a pending Read return. With a
// terminal it does not: making the terminal non-blocking would affect the shell
// too. On Linux, Read also returns when the client has closed the pipe that it
// reads from.
func Serve(r io.Reader, w io.Writer, opt lines.StreamOptions) *lines.Stream {
	if r != io.Reader(os.Stdin) || w != io.Writer(os.Stdout) {
		return lines.NewStream(r, w, opt)
	}
	file, out := standardFiles()
	in := &input{File: file}
	opt.Closer = standardEnds{in, out}
	if out != os.Stdout && isFIFO(out) {
		go in.endUnread(out)
	}
	return lines.NewStream(in, out, opt)
}

func isFIFO(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeNamedPipe != 0
}

// An input is standard input, which ends when the client no longer reads
// standard output: it would not see an answer.
type input struct {
	*os.File
	unread atomic.Bool
}

func (in *input) Read(p []byte) (int, error) {
	n, err := in.File.Read(p)
	if in.unread.Load() {
		err = io.EOF
	}
	return n, err
}

func (in *input) Close() error {
	if err := in.File.Close(); !in.unread.Load() {
		return err
	}
	return nil
}

// endUnread ends the input when the reader of the pipe out has closed it. It
// returns when out is closed.
func (in *input) endUnread(out *os.File) {
	conn, err := out.SyscallConn()
	if err != nil {
		return
	}
	// The end of a pipe that is written to is never ready for reading. The poller
	// reports it as ready for everything when the other end is closed.
	waited := false
	err = conn.Read(func(uintptr) bool {
		was := waited
		waited = true
		return was
	})
	if err == nil {
		in.unread.Store(true)
		in.Close()
	}
}

// standardEnds closes both streams. It also closes standard output if the stream
// writes to another file description of it, so that the client sees the end.
type standardEnds struct {
	in  *input
	out *os.File
}

func (e standardEnds) Close() error {
	err := e.out.Close()
	if inErr := e.in.Close(); err == nil {
		err = inErr
	}
	if e.out != os.Stdout {
		os.Stdout.Close()
	}
	return err
}

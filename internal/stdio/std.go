package stdio

import "os"

// Std returns the stream over the process's own standard input and output.
//
// If input is a pipe or a socket, Close makes a pending Read return. With a
// terminal it does not: making the terminal non-blocking would affect the shell
// too.
func Std(opt StreamOptions) *Stream {
	in, out := standardFiles()
	opt.Closer = standardEnds{bothEnds{in, out}, out}
	return NewStream(in, out, opt)
}

// standardEnds also closes standard output if the stream writes to another file
// description of it, so that the client sees the end.
type standardEnds struct {
	bothEnds
	out *os.File
}

func (e standardEnds) Close() error {
	err := e.bothEnds.Close()
	if e.out != os.Stdout {
		os.Stdout.Close()
	}
	return err
}

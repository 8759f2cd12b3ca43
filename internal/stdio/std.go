package stdio

import "os"

// Std is the stream over our own standard input and output.
//
// Where input is a pipe or a socket Close makes a pending Read return. From a
// terminal it does not: making that non-blocking would change it for the shell
// too.
func Std(opt StreamOptions) *Stream {
	in, out := standardFiles()
	opt.Closer = standardEnds{bothEnds{in, out}, out}
	return NewStream(in, out, opt)
}

// standardEnds closes standard output too where the stream writes to another
// description of it: the client is to see the end.
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

package stdio

// Std is the stream over our own standard input and output.
//
// Where input is a pipe or a socket Close makes a pending Read return. From a
// terminal it does not: making that non-blocking would change it for the shell
// too.
func Std(opt StreamOptions) *Stream {
	in, out := standardFiles()
	return NewStream(in, out, opt)
}

// Package stdio speaks newline-framed messages with child processes.
//
// It owns the framing of messages over pipes, the one helper process that
// starts all children, and their whole life: environment, standard error,
// stopping, and the death of everything they forked. It refuses to know what a
// message means; a line is bytes.
package stdio

const (
	// DefaultMaxLine is the longest line that is read when no limit is set.
	DefaultMaxLine = 16 << 20

	// maxPending is how many bytes may wait to be written before Write blocks.
	maxPending = 8 << 20
	// largePart is the size from which a part is written where it stands
	// instead of being copied together with its neighbours.
	largePart = 32 << 10
	// chunkSize is the size of one read; a Linux pipe that nobody widened holds no
	// more.
	chunkSize = 64 << 10
	// longRead is how much of a line is read at once when the last one was long:
	// writer and reader of a pipe keep each other waiting with every read, and
	// what was read is still in the cache when the line end is looked for.
	longRead = 4 * chunkSize
	// firstChunk is what a stream that has not been busy yet reads with.
	firstChunk = 4 << 10
	// headSize is how much of a skipped line is kept to find its id in.
	headSize = 4 << 10
)

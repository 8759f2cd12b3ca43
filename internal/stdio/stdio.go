// Package stdio exchanges newline-framed messages with child processes.
//
// It owns the framing of messages over pipes, the one helper process that starts
// all children, and the life of the children: environment, standard error,
// stopping, and killing every process that they forked. It does not interpret
// messages; a line is bytes.
package stdio

const (
	// DefaultMaxLine is the longest line that is read if no limit is set.
	DefaultMaxLine = 16 << 20

	// maxPending is how many bytes may be queued before Write blocks.
	maxPending = 8 << 20
	// largePart is the size from which a part is written from the caller's memory
	// instead of being copied into a block.
	largePart = 32 << 10
	// chunkSize is the size of one read; a Linux pipe of default size holds no more.
	chunkSize = 64 << 10
	// longRead is how much of a line is read at once if the last line was long:
	// writer and reader of a pipe wait for each other with every read. The data is
	// still in the cache when it is searched for the line end.
	longRead = 4 * chunkSize
	// firstChunk is the read size of a stream that has not been busy yet.
	firstChunk = 4 << 10
	// headSize is how much of a skipped line is kept to find its id in.
	headSize = 4 << 10
)

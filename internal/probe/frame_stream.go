package probe

import (
	"bytes"

	"mcp-all-in-one/internal/jsonrpc"
)

// A tappedStream notes every message that passes.
type tappedStream struct {
	jsonrpc.Stream
	tap *tap
}

func (s *tappedStream) Read() ([]byte, func(), error) {
	msg, release, err := s.Stream.Read()
	if err == nil {
		s.tap.note(Frame{}, msg)
	}
	return msg, release, err
}

func (s *tappedStream) Write(parts ...[]byte) error {
	err := s.Stream.Write(parts...)
	if err == nil {
		s.tap.note(Frame{Sent: true}, bytes.Join(parts, nil))
	}
	return err
}

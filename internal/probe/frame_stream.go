package probe

import (
	"bytes"

	"mcp-all-in-one/internal/jsonrpc"
)

// A tappedStream records every message.
type tappedStream struct {
	jsonrpc.Stream
	tap  *tap
	part *partings
}

func (s *tappedStream) Read() ([]byte, func(), error) {
	msg, release, err := s.Stream.Read()
	if err == nil {
		s.tap.note(Frame{}, msg)
	}
	return msg, release, err
}

// Write records a message before it is sent, because the answer may arrive
// before Write returns.
func (s *tappedStream) Write(parts ...[]byte) error {
	msg := bytes.Join(parts, nil)
	s.tap.note(Frame{Sent: true}, msg)
	err := s.Stream.Write(parts...)
	s.part.saw(msg)
	return err
}

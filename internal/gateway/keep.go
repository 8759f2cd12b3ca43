package gateway

// readLimit is how much of a kept result is shown at once.
func (s *Session) readLimit() int64 {
	if limit := s.gw.config().Results.Limit; limit > 0 {
		return limit
	}
	return defaultRead
}

// defaultRead is how much is shown where no limit is set.
const defaultRead = 32 << 10

// reads says whether the session can be shown results in part.
func (s *Session) reads() bool { return false }

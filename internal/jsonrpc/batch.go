package jsonrpc

// IsBatch reports whether data begins like an array.
func IsBatch(data []byte) bool {
	i := skipSpace(data, 0)
	return i < len(data) && data[i] == '['
}

// SplitBatch reads a batch strictly and returns its messages. The messages
// themselves are not scanned yet.
func SplitBatch(data []byte, lim *ScanLimits) ([][]byte, *Error) {
	s := newScanner(data, lim)
	s.document(s.value(0))
	err := s.err
	s.free()
	switch {
	case err != nil:
		return nil, err
	case !IsBatch(data):
		return nil, Errorf(CodeInvalidRequest, "not a batch")
	}
	var parts [][]byte
	for part := range Elements(data) {
		if limit := lim.orDefaults().Batch; len(parts) == limit {
			return nil, overLimit("batch", "batch of more than %d messages", limit)
		}
		parts = append(parts, part)
	}
	if len(parts) == 0 {
		return nil, Errorf(CodeInvalidRequest, "empty batch")
	}
	return parts, nil
}

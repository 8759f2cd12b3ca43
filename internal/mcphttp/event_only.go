package mcphttp

import "bytes"

// onlyEvent returns the data of an event that is all of b and has one line of
// data; nil when that is not so. Nothing is read that an EventReader would read
// otherwise.
func onlyEvent(b []byte) (data []byte) {
	for ended := false; !ended; {
		line, rest, found := bytes.Cut(b, []byte{'\n'})
		line = bytes.TrimSuffix(line, []byte{'\r'})
		if !found || bytes.IndexByte(line, '\r') >= 0 {
			return nil
		}
		b, ended = rest, len(line) == 0
		name, value, _ := bytes.Cut(line, []byte{':'})
		value = bytes.TrimPrefix(value, []byte{' '})
		switch string(name) {
		case "data":
			if data != nil || len(value) == 0 {
				return nil
			}
			data = value
		case "event":
			if len(value) > 0 && string(value) != "message" {
				return nil
			}
		case "id":
			if len(value) > maxEventID {
				return nil
			}
		case "", "retry": // the end, a comment, or what does not matter once the answer is here
		default:
			return nil
		}
	}
	if len(b) > 0 {
		return nil
	}
	return data
}

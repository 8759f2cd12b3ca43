package http1

import (
	"net/http"
	"strconv"
	"strings"

	"mcp-all-in-one/internal/i18n"
)

// A malformedError says that a response is not HTTP or is ambiguous.
type malformedError string

func (e malformedError) Error() string { return "malformed HTTP: " + string(e) }

func (e malformedError) In(l i18n.Lang) string {
	return i18n.New("malformed HTTP: %s", "HTTP 格式不正确：%s", string(e)).In(l)
}

// A clientFraming says how the body of a response ends, and whether the connection
// can be used again.
type clientFraming struct {
	chunked bool
	length  int64 // -1: not known
	keep    bool
}

// parseAnswer parses the head of a response, including its line ends.
func parseAnswer(head string, resp *http.Response) (clientFraming, error) {
	line, fields := cutText(head)
	if err := parseStatus(line, resp); err != nil {
		return clientFraming{}, err
	}
	count := strings.Count(fields, "\n")
	resp.Header = make(http.Header, count)
	values := make([]string, count) // one allocation for all
	for {
		line, fields = cutText(fields)
		if line == "" {
			break
		}
		name, value, ok := strings.Cut(line, ":")
		if ok {
			name, ok = canonical(name)
		}
		if !ok { // a folded line begins with a space
			return clientFraming{}, malformedError("header line " + strconv.Quote(clip(line)))
		}
		if value = strings.Trim(value, " \t"); !isFieldText(value) {
			return clientFraming{}, malformedError("value of the header " + clip(name))
		}
		if known := resp.Header[name]; known != nil {
			resp.Header[name] = append(known, value)
			continue
		}
		values[0] = value
		resp.Header[name], values = values[:1:1], values[1:]
	}
	return frame(resp)
}

func parseStatus(line string, resp *http.Response) error {
	const least = len("HTTP/1.1 200")
	bad := len(line) < least || line[:7] != "HTTP/1." || line[7] != '0' && line[7] != '1' || line[8] != ' ' ||
		len(line) > least && line[least] != ' ' || !isFieldText(line)
	if bad {
		return malformedError("status line " + strconv.Quote(clip(line)))
	}
	code := 0
	for _, c := range []byte(line[9:least]) {
		if c < '0' || c > '9' {
			return malformedError("status code " + strconv.Quote(line[9:least]))
		}
		code = code*10 + int(c-'0')
	}
	if code < 100 || code == http.StatusSwitchingProtocols {
		return malformedError("unexpected status code " + line[9:least])
	}
	resp.Proto, resp.ProtoMajor, resp.ProtoMinor = line[:8], 1, int(line[7]-'0')
	resp.Status, resp.StatusCode = line[9:], code
	return nil
}

// frame reads the framing of the body from the header, RFC 9112 section 6.3. A
// header that could hide a second response in the first is an error.
func frame(resp *http.Response) (clientFraming, error) {
	f := clientFraming{length: -1}
	coding, lengths := resp.Header["Transfer-Encoding"], resp.Header["Content-Length"]
	resp.TransferEncoding = nil // may be set by a provisional response
	if coding != nil {
		if len(coding) != 1 || !strings.EqualFold(coding[0], "chunked") || lengths != nil || resp.ProtoMinor == 0 {
			return f, malformedError("Transfer-Encoding " + clip(strings.Join(coding, ", ")))
		}
		announced := resp.Header["Trailer"] // the trailer itself is dropped
		if hasToken(announced, "Transfer-Encoding") || hasToken(announced, "Content-Length") || hasToken(announced, "Trailer") {
			return f, malformedError("Trailer " + clip(strings.Join(announced, ", ")))
		}
		f.chunked = true
		resp.TransferEncoding = []string{"chunked"}
		delete(resp.Header, "Transfer-Encoding")
		delete(resp.Header, "Trailer")
	}
	if lengths != nil {
		n, err := strconv.ParseUint(lengths[0], 10, 63)
		if err != nil || len(lengths) != 1 {
			return f, malformedError("Content-Length " + clip(strings.Join(lengths, ", ")))
		}
		f.length = int64(n)
	}
	if code := resp.StatusCode; code/100 == 1 || code == http.StatusNoContent || code == http.StatusNotModified {
		f.chunked, f.length = false, 0
	}
	resp.ContentLength = f.length
	connection := resp.Header["Connection"]
	old, ends := resp.ProtoMinor == 0, hasToken(connection, "close")
	if ends && !old {
		delete(resp.Header, "Connection") // as net/http
	}
	resp.Close = ends || old && !hasToken(connection, "keep-alive") || !f.chunked && f.length < 0
	f.keep = !resp.Close && !old
	return f, nil
}

// cutText returns the first line, without its line end, and the rest.
func cutText[T string | []byte](s T) (line, rest T) {
	end, next := len(s), len(s)
	for i := range len(s) {
		if s[i] == '\n' {
			end, next = i, i+1
			break
		}
	}
	if end > 0 && s[end-1] == '\r' {
		end--
	}
	return s[:end], s[next:]
}

func hasToken(values []string, token string) bool {
	for _, v := range values {
		for part := range strings.SplitSeq(v, ",") {
			if strings.EqualFold(strings.Trim(part, " \t"), token) {
				return true
			}
		}
	}
	return false
}

// canonical returns a header field name in canonical form; false if it is not valid.
// It reads a name once, where isToken and http.CanonicalHeaderKey read it three times.
func canonical(name string) (string, bool) {
	same, first := true, true
	for i := range len(name) {
		c := name[i]
		if !tokenBytes[c] {
			return "", false
		}
		if first && 'a' <= c && c <= 'z' || !first && 'A' <= c && c <= 'Z' {
			same = false
		}
		first = c == '-'
	}
	if !same {
		name = http.CanonicalHeaderKey(name)
	}
	return name, name != ""
}

// isToken reports whether s is a valid header field name.
func isToken[T string | []byte](s T) bool {
	for i := range len(s) {
		if !tokenBytes[s[i]] {
			return false
		}
	}
	return len(s) > 0
}

var tokenBytes = func() (table [256]bool) {
	for _, c := range "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ" {
		table[c] = true
	}
	return table
}()

// isFieldText reports whether s has no control characters.
func isFieldText[T string | []byte](s T) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' && c != '\t' || c == 0x7f {
			return false
		}
	}
	return true
}

// clip shortens text from a server for an error message.
func clip(s string) string { return s[:min(len(s), 64)] }

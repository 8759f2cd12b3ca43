package must

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

// Request returns a request that ends with the test. The header has alternating
// names and values; an empty value is left out.
func Request(t testing.TB, method, url, body string, header ...string) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		if header[i+1] != "" {
			r.Header.Set(header[i], header[i+1])
		}
	}
	if host := r.Header.Get("Host"); host != "" {
		r.Host = host
	}
	return r
}

// Answer sends a request and returns the response with its whole body.
func Answer(t testing.TB, c *http.Client, r *http.Request) (*http.Response, string) {
	t.Helper()
	resp, err := c.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(body)
}

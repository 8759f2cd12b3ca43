package eval

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/mcptest/must"
)

const key = "sk-test-0123456789"

// served returns an API with the given handler.
func served(t *testing.T, h http.HandlerFunc) *API {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	m, err := NewAPI(s.URL+"/v1/", s.URL+"/v1/", config.Secret(key), 5*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	m.pause = time.Millisecond
	return m
}

func ask(t *testing.T, m Model) (*Reply, error) {
	t.Helper()
	return m.Ask(t.Context(), &Question{Eval: "one", Mode: "full", Run: 1, Turn: 1, Body: []byte(`{"model":"m"}`)})
}

const completion = `{"choices":[{"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}],"usage":{"prompt_tokens":7,"completion_tokens":2}}`

func TestAPIAnswers(t *testing.T) {
	m := served(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if r.URL.Path != "/v1/chat/completions" || r.Header.Get("Authorization") != "Bearer "+key || string(body) != `{"model":"m"}` {
			http.Error(w, "not so", http.StatusTeapot)
			return
		}
		io.WriteString(w, completion)
	})
	reply, err := ask(t, m)
	if err != nil || string(reply.Body) != completion || reply.Took <= 0 {
		t.Fatalf("it answered %+v, %v", reply, err)
	}
}

// TestAPIErrors tests all errors of an API and their messages. No message
// contains the key.
func TestAPIErrors(t *testing.T) {
	for _, c := range []struct {
		name    string
		status  int
		header  string
		body    string
		kind    Kind
		refused bool
		want    string
	}{
		{"wrong key", 401, "", `{"error":{"message":"Incorrect API key provided: ` + key + `"}}`, Unauthorized, false, "refused the key (HTTP 401): Incorrect API key provided: …"},
		{"forbidden", 403, "", ``, Unauthorized, false, "refused the key (HTTP 403)"},
		{"no model", 404, "", `{"error":{"message":"model \"m\" not found, try pulling it first"}}`, NotThere, false, `(HTTP 404): model "m" not found`},
		{"elsewhere", 307, "", ``, NotThere, false, "leads to https://example.com/take, which is not followed"},
		{"too many tools", 400, "", `{"error":{"message":"Invalid 'tools': array too long"}}`, 0, true, "the API refused the request (HTTP 400): Invalid 'tools': array too long"},
		{"too much", 413, "", `<html>`, 0, true, "(HTTP 413): <html>"},
		{"broken", 500, "", `{"error":"out of memory"}`, Busy, false, "busy or broken (HTTP 500): out of memory"},
		{"busy for long", 429, "3600", `{"detail":"slow down"}`, Busy, false, "(HTTP 429, Retry-After: 3600): slow down"},
		{"odd", 204, "", ``, Malformed, false, "answered HTTP 204"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := served(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Location", "https://example.com/take")
				if c.header != "" {
					w.Header().Set("Retry-After", c.header)
				}
				w.WriteHeader(c.status)
				io.WriteString(w, c.body)
			})
			_, err := ask(t, m)
			var stopped *StopError
			var refused *RefusedError
			if errors.As(err, &refused) != c.refused || errors.As(err, &stopped) == c.refused || stopped != nil && stopped.Kind != c.kind {
				t.Fatalf("got %#v", err)
			}
			if !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), key) {
				t.Errorf("it says %s", err)
			}
		})
	}
}

func TestAPIWithoutKey(t *testing.T) {
	m := served(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "" {
			t.Error("a key was sent")
		}
		w.WriteHeader(http.StatusUnauthorized)
	})
	m.key = ""
	if _, err := ask(t, m); err == nil || !strings.Contains(err.Error(), "wants a key (HTTP 401)") {
		t.Errorf("got %v", err)
	}
}

// TestAPIWaits asks a busy API again, as often as is allowed.
func TestAPIWaits(t *testing.T) {
	for _, c := range []struct {
		name   string
		busy   int32
		header string
		asked  int32
		ok     bool
	}{
		{"says when", 2, "0", 3, true},
		{"does not say", 3, "", 4, true},
		{"at a date", 1, time.Now().UTC().Format(http.TimeFormat), 2, true},
		{"never free", 99, "", tries, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			var asked atomic.Int32
			m := served(t, func(w http.ResponseWriter, _ *http.Request) {
				if asked.Add(1) <= c.busy {
					if c.header != "" {
						w.Header().Set("Retry-After", c.header)
					}
					w.WriteHeader(http.StatusTooManyRequests)
					return
				}
				io.WriteString(w, completion)
			})
			if _, err := ask(t, m); (err == nil) != c.ok || asked.Load() != c.asked {
				t.Errorf("asked %d times: %v", asked.Load(), err)
			}
		})
	}
}

// TestAPIBounds tests answers that are too late, too large or truncated, and a
// cancelled request.
func TestAPIBounds(t *testing.T) {
	t.Run("time", func(t *testing.T) {
		m := served(t, func(_ http.ResponseWriter, r *http.Request) {
			io.Copy(io.Discard, r.Body)
			<-r.Context().Done()
		})
		m.patience = 20 * time.Millisecond
		var refused *RefusedError
		if _, err := ask(t, m); !errors.As(err, &refused) || !strings.Contains(err.Error(), "no answer within 20ms") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("size", func(t *testing.T) {
		m := served(t, func(w http.ResponseWriter, _ *http.Request) {
			line := strings.Repeat("x", 1<<16)
			for range maxAnswer>>16 + 1 {
				io.WriteString(w, line)
			}
		})
		if _, err := ask(t, m); err == nil || !strings.Contains(err.Error(), "over the limit of 8 MB") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("cut", func(t *testing.T) {
		m := served(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000")
			io.WriteString(w, "{")
		})
		if _, err := ask(t, m); err == nil || !strings.Contains(err.Error(), "cannot be reached") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("refused", func(t *testing.T) {
		m, err := NewAPI("http://127.0.0.1:1/v1/", "http://127.0.0.1:1/v1/", config.Secret(key), 5*time.Second)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := ask(t, m); err == nil || !strings.HasPrefix(i18n.Chinese.Of(err), "无法连接 http://127.0.0.1:1/v1/chat/completions：连接 127.0.0.1:1 失败：") {
			t.Errorf("got %s", i18n.Chinese.Of(err))
		}
	})
	t.Run("cancelled", func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		m := served(t, func(w http.ResponseWriter, _ *http.Request) {
			cancel(errDecided)
			w.Header().Set("Retry-After", "30")
			w.WriteHeader(http.StatusTooManyRequests)
		})
		if _, err := m.Ask(ctx, &Question{}); !errors.Is(err, errDecided) {
			t.Errorf("got %v", err)
		}
	})
}

func TestAPIAddress(t *testing.T) {
	for address, want := range map[string]string{
		"http://h/v1": "http://h/v1/chat/completions", "http://h/v1/": "http://h/v1/chat/completions",
		"https://h/v1/chat/completions": "https://h/v1/chat/completions", "http://h": "http://h/chat/completions",
		"https://h/openai?api-version=1": "https://h/openai/chat/completions?api-version=1",
		"h/v1":                           "", "ftp://h/v1": "", "http://u:p@h/v1": "", "": "",
	} {
		m, err := NewAPI(address, address, "", 0)
		if (err != nil) != (want == "") || err == nil && m.endpoint != want {
			t.Errorf("%q: %+v, %v", address, m, err)
		}
	}
}

// TestKeyStaysHere checks that the key is sent only to its own address: not to
// the target of a redirect, and not into a recording, even if the API writes it
// into its answers.
func TestKeyStaysHere(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("the other host was asked, with %v", r.Header)
	}))
	t.Cleanup(other.Close)
	m := served(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL, http.StatusPermanentRedirect)
	})
	if _, err := ask(t, m); err == nil || strings.Contains(err.Error(), key) {
		t.Errorf("got %v", err)
	}
	telling := served(t, func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, `{"choices":[{"message":{"content":"your key is %s"}}]}`, r.Header.Get("Authorization"))
	})
	tape := &Tape{}
	if _, err := ask(t, tape.Of(telling, "m")); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "model.jsonl")
	must.OK(t, tape.Save(path))
	text, err := os.ReadFile(path)
	if err != nil || !strings.Contains(string(text), "your key is Bearer …") || strings.Contains(string(text), key) {
		t.Errorf("the recording is %s, %v", text, err)
	}
}

// TestKeyIsNotShown has an API that writes the key into every part of an
// answer.
func TestKeyIsNotShown(t *testing.T) {
	escaped := ""
	for _, r := range key {
		escaped += fmt.Sprintf(`\u%04X`, r)
	}
	for name, h := range map[string]http.HandlerFunc{
		"redirect": func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/?key="+key, http.StatusFound) },
		"busy": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", key)
			w.WriteHeader(http.StatusTooManyRequests)
		},
		"no HTTP": func(w http.ResponseWriter, _ *http.Request) {
			conn, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			fmt.Fprintf(conn, "HTTP/1.1 %s\r\n\r\n", key)
			conn.Close()
		},
		"escapes": func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprintf(w, `{"choices":[{"message":{"content":"a %s b"}}]}`, escaped)
		},
		"escapes in texts": func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprintf(w, `"a %s b"`, strings.ReplaceAll(escaped, `\`, `\\`))
		},
	} {
		t.Run(name, func(t *testing.T) {
			said := ""
			if reply, err := ask(t, served(t, h)); err != nil {
				said = err.Error()
			} else {
				said = string(reply.Body)
			}
			if !strings.Contains(said, "…") || strings.Contains(said, key) || strings.Contains(said, `u0073`) {
				t.Errorf("it says %s", said)
			}
		})
	}
	t.Run("address", func(t *testing.T) {
		for _, address := range []string{"http://127.0.0.1:1/v1?api-key=" + key, key} {
			m, err := NewAPI(address, "${env:ADDRESS}", "", time.Second)
			if err == nil {
				_, err = ask(t, m)
			}
			if err == nil || !strings.Contains(err.Error(), "${env:ADDRESS}") || strings.Contains(err.Error(), key) {
				t.Errorf("got %v", err)
			}
		}
	})
}

// TestRecording records a model that answers differently each time: the
// recorded answers come back in order, each once.
func TestRecording(t *testing.T) {
	var asked atomic.Int32
	m := served(t, func(w http.ResponseWriter, _ *http.Request) {
		n := asked.Add(1)
		if n == 2 {
			http.Error(w, `{"error":{"message":"too many tools"}}`, http.StatusBadRequest)
			return
		}
		fmt.Fprintf(w, `{"choices":[{"message":{"content":"answer %d"}}]}`, n)
	})
	tape := &Tape{}
	for range 3 {
		ask(t, tape.Of(m, "m"))
	}
	path := filepath.Join(t.TempDir(), "model.jsonl")
	must.OK(t, tape.Save(path))
	replay, err := ReadRecording(path)
	if err != nil || replay.Name != "m" {
		t.Fatalf("it is %+v, %v", replay, err)
	}
	for i, want := range []string{"answer 1", "the API refused the request (HTTP 400): too many tools", "answer 3", `eval "one" in mode full, run 1, turn 1: ` + path + " has 3 answers to this request and no more"} {
		reply, err := ask(t, replay)
		got := fmt.Sprint(err)
		if err == nil {
			got = string(reply.Body)
		}
		if !strings.Contains(got, want) {
			t.Errorf("%d: got %s, want %s", i, got, want)
		}
	}
	_, err = replay.Ask(t.Context(), &Question{Eval: "two", Mode: "code", Run: 3, Turn: 2, Body: []byte(`{"model":"n"}`)})
	var stopped *StopError
	if !errors.As(err, &stopped) || stopped.Kind != Unrecorded || !strings.Contains(err.Error(), `eval "two" in mode code, run 3, turn 2: this request is not in `+path) {
		t.Errorf("got %v", err)
	}
	if asked.Load() != 3 {
		t.Errorf("the model was asked %d times", asked.Load())
	}
}

func TestNoRecording(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"empty": "", "other": "{}\n", "text": "hello\n", "cut": `{"format":"` + format + `","model":"m"}` + "\n{\"digest\":"} {
		path := must.Write(t, filepath.Join(dir, name), text)
		if _, err := ReadRecording(path); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

package cluster

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"mcp-all-in-one/internal/mcptest"
)

var codeOnPage = regexp.MustCompile(`<output>(\d{3}) (\d{3})</output>`)

// TestShare signs a client in whose requests reach another replica each time, and
// checks that its key counts at all of them.
func TestShare(t *testing.T) {
	besideOthers(t)
	const back, verifier = "https://cloud.example/callback", "a-verifier-of-at-least-forty-three-characters-for-PKCE"
	server := mcptest.StartNATS(t)
	c := start(t, 3, options{
		section: fmt.Sprintf(`,"engine":"nats","nats":{"urls":[%q]}`, server.URL), access: `"access":{"keys":"keys.json","share":{"url":"http://127.0.0.1:3095"}},`,
	})
	a, b, third := c.replicas[0], c.replicas[1], c.replicas[2]
	browser := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	do := func(resp *http.Response, err error) (*http.Response, string) {
		t.Helper()
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
	at := func(r *replica, path string) string { return strings.TrimSuffix(r.url(), "/mcp") + path }
	_, body := do(http.Post(at(b, "/oauth/register"), "application/json", strings.NewReader(fmt.Sprintf(`{"client_name":"Cloud","redirect_uris":[%q]}`, back))))
	var client struct {
		ID string `json:"client_id"`
	}
	decode(t, []byte(body), &client)
	hash := sha256.Sum256([]byte(verifier))
	began, body := do(browser.Get(at(a, "/oauth/authorize?"+url.Values{"response_type": {"code"}, "client_id": {client.ID}, "redirect_uri": {back}, "state": {"s"},
		"code_challenge": {base64.RawURLEncoding.EncodeToString(hash[:])}, "code_challenge_method": {"S256"}}.Encode())))
	page := began.Header.Get("Location")
	if !strings.HasPrefix(page, "/oauth/wait?id=") {
		t.Fatalf("%s to %s: %s", began.Status, page, body)
	}
	t.Run("cluster/share/forged", func(t *testing.T) {
		for _, id := range []string{"unknown", page[len("/oauth/wait?id="):len(page)-3] + "AAA"} {
			if resp, body := do(browser.Get(at(b, "/oauth/wait?id="+id))); resp.StatusCode != http.StatusNotFound {
				t.Errorf("%s: %s %s", id, resp.Status, body)
			}
		}
	})
	code := ""
	t.Run("cluster/share/confirmed", func(t *testing.T) {
		_, body := do(browser.Get(at(b, page)))
		shown := codeOnPage.FindStringSubmatch(body)
		if shown == nil {
			t.Fatalf("no code on the page: %s", body)
		}
		var list struct {
			Questions []struct{ ID, Kind string }
		}
		await(t, "the question is in the inbox of another replica", func() bool {
			return json.Unmarshal([]byte(third.must("inbox", "--json")), &list) == nil && len(list.Questions) == 1
		})
		for _, words := range [][]string{nil, {"code="}, {"code= "}} { // forgotten: nobody has decided
			if _, why, exit := third.run(append([]string{"inbox", "answer", list.Questions[0].ID}, words...)...); exit == 0 || !strings.Contains(why, "code") {
				t.Errorf("answer without a code: %d %s", exit, why)
			}
		}
		third.must("inbox", "answer", list.Questions[0].ID, "code="+shown[1]+shown[2])
		await(t, "the browser is sent back", func() bool {
			resp, _ := do(browser.Get(at(third, page)))
			to, err := url.Parse(resp.Header.Get("Location"))
			if err == nil {
				code = to.Query().Get("code")
			}
			return code != ""
		})
	})
	token := func(r *replica, client string) (*http.Response, string) {
		form := url.Values{"grant_type": {"authorization_code"}, "code": {code}, "redirect_uri": {back}, "code_verifier": {verifier}}
		req, err := http.NewRequest(http.MethodPost, at(r, "/oauth/token"), strings.NewReader(form.Encode()))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		req.SetBasicAuth(url.QueryEscape(client), "")
		return do(http.DefaultClient.Do(req))
	}
	t.Run("cluster/share/key", func(t *testing.T) {
		resp, body := token(b, client.ID)
		var got struct {
			Token string `json:"access_token"`
		}
		if err := json.Unmarshal([]byte(body), &got); err != nil || got.Token == "" || resp.StatusCode != http.StatusOK {
			t.Fatalf("%s: %s", resp.Status, body)
		}
		made := time.Now()
		for _, r := range c.replicas {
			enters(t, r, got.Token)
		}
		if took := time.Since(made); took > soon {
			t.Errorf("the key counts everywhere after %v", took)
		}
		if resp, body := token(third, client.ID); resp.StatusCode != http.StatusBadRequest || !strings.Contains(body, "used before") {
			t.Errorf("the code again: %s %s", resp.Status, body)
		}
		for _, r := range c.replicas {
			await(t, "the key has ended at "+r.name, func() bool {
				return holder(t, r, got.Token).Post(mcptest.InitializeLine(legacy, `{}`)).Status == http.StatusUnauthorized
			})
		}
	})
}

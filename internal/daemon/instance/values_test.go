package instance

import (
	"strings"
	"testing"

	"mcp-all-in-one/internal/access"
	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/gateway/visit"
	"mcp-all-in-one/internal/upstream"
	"mcp-all-in-one/internal/upstream/failure"
)

// TestAskValue checks that a person is sent to the address at which their
// client reaches the gateway, and nowhere if there is no page.
func TestAskValue(t *testing.T) {
	question := func(at visit.Place) visit.Question {
		return visit.Question{Who: access.Principal{ID: "key:ann"}, At: at, Missing: &failure.ValueError{Server: "hub", Name: "hub"}}
	}
	for name, tt := range map[string]struct {
		url  string
		at   visit.Place
		want string
	}{
		"unknown":   {"http://127.0.0.1:3095", visit.Place{}, "http://127.0.0.1:3095/ui/value/"},
		"plain":     {"http://127.0.0.1:3095", visit.Place{Host: "localhost:3095"}, "http://localhost:3095/ui/value/"},
		"own https": {"https://a.example:3095", visit.Place{Host: "a.example:3095"}, "https://a.example:3095/ui/value/"},
		"a proxy's": {"http://127.0.0.1:3095", visit.Place{Host: "a.example", Secure: true}, "https://a.example/ui/value/"},
	} {
		t.Run(name, func(t *testing.T) {
			in := &Instance{Config: &config.Config{}, Console: true, URL: tt.url}
			if got := askValue(in)(question(tt.at)); !strings.HasPrefix(got, tt.want) || len(got) < len(tt.want)+20 {
				t.Errorf("%s, want %s and a ticket", got, tt.want)
			}
		})
	}
	if got := askValue(&Instance{Config: &config.Config{}})(question(visit.Place{})); got != "" {
		t.Errorf("without a console: %s", got)
	}
	if askValue(&Instance{Config: &config.Config{}, greeting: upstream.NewGreeting("local")}) != nil {
		t.Error("there is a page on stdio")
	}
	if askValue(&Instance{Config: &config.Config{Cluster: config.Cluster{Peer: ":3096", Secret: "s"}}}) != nil {
		t.Error("there is a page in a cluster")
	}
}

package instance

import (
	"strings"

	"mcp-all-in-one/internal/gateway/visit"
	"mcp-all-in-one/internal/web/values"
)

// askValue returns a function that leads a person to a page where they enter a
// value. It is nil on stdio, where there is no page, and in a cluster, where
// the next request may reach another replica, which has its own values.
func askValue(in *Instance) visit.Asker {
	if in.greeting != nil || in.Config.Cluster.Enabled() {
		return nil
	}
	return func(q visit.Question) string {
		if !in.Console {
			return ""
		}
		path := in.Wanted.Ask(values.Question{Who: q.Who, Server: q.Missing.Server, Name: q.Missing.Name, Description: q.Missing.Description, Refused: q.Missing.Refused})
		switch {
		case q.At.Host == "":
			return in.URL + path
		case q.At.Secure || strings.HasPrefix(in.URL, "https:"):
			return "https://" + q.At.Host + path
		}
		return "http://" + q.At.Host + path
	}
}

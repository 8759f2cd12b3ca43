package web

import (
	"fmt"
	"strings"
	"testing"

	"mcp-all-in-one/internal/traffic"
	"mcp-all-in-one/internal/web/api"
)

func TestBodyByPath(t *testing.T) {
	c := start(t).login(api.ScopeAdmin)
	var items []string
	for i := range 5000 {
		items = append(items, fmt.Sprintf(`{"n":%d,"a/b":[1,2,3]}`, i))
	}
	body := `{"structuredContent":{"items":[` + strings.Join(items, ",") + `],"total":9007199254740993},"text":"` + strings.Repeat("x", 10_000) + `"}`
	detach := c.opt.Traffic.Attach()
	defer detach()
	id := c.opt.Traffic.Begin(&traffic.Call{Kind: traffic.KindCall, Hop: traffic.HopClient, Method: "tools/call"}, []byte(`{}`))
	c.opt.Traffic.End(id, &traffic.Outcome{Status: traffic.StatusOK}, []byte(body))

	get := func(query string) (p partBody) {
		c.get(fmt.Sprintf("traffic/%d/body?side=res&%s", id, query), &p)
		return p
	}
	top := get("path=")
	if top.Kind != "object" || top.Count != 2 || top.Size != len(body) {
		t.Fatalf("the whole: %+v", top)
	}
	if first := top.Items[0]; first.Key != "structuredContent" || first.Kind != "object" || first.Count != 2 || first.Value != nil {
		t.Errorf("a large member is not summed up: %+v", first)
	}
	page := get("path=/structuredContent/items&offset=4990&limit=5")
	if page.Count != 5000 || len(page.Items) != 5 || page.Items[0].Key != "4990" || string(page.Items[0].Value) != `{"n":4990,"a/b":[1,2,3]}` {
		t.Errorf("a page of items: %+v", page)
	}
	if got := get("path=/structuredContent/items/7/a~1b/2"); string(got.Value) != "3" || got.Kind != "number" {
		t.Errorf("an escaped key: %+v", got)
	}
	if got := get("path=/structuredContent/total"); string(got.Value) != "9007199254740993" {
		t.Errorf("a digit was lost: %+v", got)
	}
	c.want(404, "GET", fmt.Sprintf("traffic/%d/body?side=res&path=/nothing", id), nil)
	c.want(404, "GET", fmt.Sprintf("traffic/%d/body?side=res&path=items", id), nil)
}

// A body that was not kept completely has no parts; the request is refused.
func TestBodyByPathOfAHead(t *testing.T) {
	c := start(t).login(api.ScopeAdmin)
	id := c.opt.Traffic.Begin(&traffic.Call{Kind: traffic.KindCall, Hop: traffic.HopClient, Method: "tools/call"}, []byte(`{}`))
	c.opt.Traffic.End(id, &traffic.Outcome{Status: traffic.StatusOK}, []byte(`{"text":"`+strings.Repeat("x", 10_000)+`"}`))
	c.want(422, "GET", fmt.Sprintf("traffic/%d/body?side=res&path=", id), nil)
}

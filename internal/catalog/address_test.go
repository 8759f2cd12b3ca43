package catalog

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"testing"
)

// ownAddresses maps addresses of servers to their aliases.
var ownAddresses = map[string]string{
	"ui://weather/app.html":         "ui://~b/weather/app.html",
	"ui://app":                      "ui://~b/app",
	"skill://acme/refunds/SKILL.md": "skill://~b/acme/refunds/SKILL.md",
	"UI://Weather/App.html":         "UI://~b/Weather/App.html",
	"demo://":                       "demo://~b/",
	"demo:///root":                  "demo://~b//root",
	"urn:isbn:0451450523":           "urn:~b/isbn:0451450523",
	"memo:/a/b":                     "memo:~b//a/b",
	"file:///a%20b?x=1":             "file:///a%20b?x=1#~b",
	"file:///a%20b?x=1#f":           "file:///a%20b?x=1#f&~b",
	"file:///a#":                    "file:///a#&~b",
	"https://example.com/x?y=z":     "https://example.com/x?y=z#~b",
	"notes/today.txt":               "mcp-address:~b/notes/today.txt",
	"mcp-address:~b/x":              "mcp-address:~b/mcp-address:~b/x",
	"ui://~c/app":                   "ui://~b/~c/app",
	"urn:~c/x":                      "urn:~b/~c/x",
	"file:///a#~c":                  "file:///a#~c&~b",
	"http://h/?q=1&~c":              "http://h/?q=1&~c#~b",
	"demo://{id}/{+path}":           "demo://~b/{id}/{+path}",
	"doc:{+path}{?v}":               "doc:~b/{+path}{?v}",
	"file:///{+path}{#part}":        "file:///{+path}{#part}&~b",
	"{+uri}":                        "mcp-address:~b/{+uri}",
}

func TestAliases(t *testing.T) {
	for own, want := range ownAddresses {
		t.Run("true/6 alias of "+own, func(t *testing.T) {
			alias := AliasURI("b", own)
			equalTo(t, want, alias)
			label, back, ok := readAlias(alias)
			if !ok || label != "b" || back != own {
				t.Errorf("%s leads to %q of %q, %v", alias, back, label, ok)
			}
			twice := AliasURI("x", alias)
			if label, back, ok := readAlias(twice); !ok || label != "x" || back != alias {
				t.Errorf("%s leads to %q of %q, %v", twice, back, label, ok)
			}
			scheme, _, has := cutScheme(own)
			if kept, _, _ := cutScheme(alias); has && kept != scheme {
				t.Errorf("the scheme %s became %s", scheme, kept)
			}
			if strings.Contains(own, "{") {
				return
			}
			if u, err := url.Parse(alias); err != nil || u.String() != alias && scheme == strings.ToLower(scheme) {
				t.Errorf("%s is not a URI: %v, %v", alias, u, err)
			}
		})
	}
	for _, own := range []string{"ui://app", "ui://~/app", "ui://~b", "urn:isbn:1", "file:///~b", "file:///~b/x", "x", "~b/x", "", ":", "ui://~b~c/x", "ui://~b%20/x"} {
		t.Run("true/6 no alias "+own, func(t *testing.T) {
			if label, back, ok := readAlias(own); ok {
				t.Errorf("it leads to %q of %q", back, label)
			}
		})
	}
}

func TestLabels(t *testing.T) {
	names := []string{"map", "Map", "my map", "my_map", "my-map", "天气", "地图", "a.b", "-", "", "~", "a/b", "a:b", "map-", strings.Repeat("long", 40)}
	seen := map[string]string{}
	for _, name := range names {
		t.Run("true/6 label of "+name, func(t *testing.T) {
			label := addressLabel(name)
			if !isLabel(label) || label != strings.ToLower(label) {
				t.Errorf("%q is no label", label)
			}
			if other, twice := seen[label]; twice {
				t.Errorf("%q and %q are both %s", name, other, label)
			}
			seen[label] = name
		})
	}
	equalTo(t, "map", addressLabel("map"))
}

// twoLists returns the addresses of all resources and templates, by server and
// own URI.
func twoLists(c *Catalog) map[string]string {
	found := map[string]string{}
	for _, t := range []*table{&c.resources, &c.templates} {
		for _, e := range t.order {
			found[c.sources[e.source].Server+" "+e.item.Key] = e.listed
		}
	}
	return found
}

// Adding, removing, restarting or slowly starting servers changes neither where
// a given address leads nor how it is listed.
func TestAddressesAreStable(t *testing.T) {
	names := []string{"b", "a", "天气", "Map"}
	all := make([]Source, len(names))
	for i, name := range names {
		var resources, templates []string
		for own := range ownAddresses {
			if strings.Contains(own, "{") {
				templates = append(templates, templateItem(own))
			} else {
				resources = append(resources, resourceItem(own))
			}
		}
		resources = append(resources, resourceItem("only://"+fmt.Sprint(i)))
		all[i] = withResources(server(name), resources, templates)
	}
	down := func(s Source) Source { return Source{Server: s.Server, State: "starting"} }
	addresses := NewAddresses(AddressBook{})
	given := map[string]string{}
	for _, step := range []struct {
		name    string
		restart bool
		sources []Source
	}{
		{"one", false, all[:1]},
		{"two", false, all[:2]},
		{"the second alone", false, all[1:2]},
		{"restarted without the first", true, all[1:2]},
		{"the first again, as the last", false, []Source{all[1], all[0]}},
		{"restarted, the others slow", true, []Source{down(all[0]), down(all[1]), all[2]}},
		{"another before all", false, []Source{all[3], all[2], all[1], all[0]}},
		{"restarted with all", true, all},
	} {
		t.Run("true/6 "+step.name, func(t *testing.T) {
			if step.restart {
				addresses = NewAddresses(addresses.Book())
			}
			c := Merge(step.sources, Options{Addresses: addresses})
			now := twoLists(c)
			for key, address := range now {
				if before, known := given[key]; known && before != address {
					t.Errorf("%s was %s and is %s", key, before, address)
				}
				given[key] = address
				ref, miss := c.Resource(address)
				if server, own, _ := strings.Cut(key, " "); miss != nil || ref.Server != server || ref.Name != own {
					t.Errorf("%s of %s leads to %+v, %+v", address, key, ref, miss)
				}
			}
			if unique := slices.Compact(slices.Sorted(maps.Values(now))); len(unique) != len(now) {
				t.Errorf("%d addresses for %d resources", len(unique), len(now))
			}
		})
	}
}

// A URI made from an aliased template leads to the template's server, and the
// server's own URI is mapped back.
func TestMadeFromAliases(t *testing.T) {
	templates := []string{templateItem("demo://{id}/x"), templateItem("file:///{+path}{#part}"), templateItem("doc:{+path}{?v}")}
	c := Merge([]Source{withResources(server("a"), nil, templates), withResources(server("b"), nil, templates)}, Options{})
	for made, own := range map[string]string{
		"demo://~b/7/x":      "demo://7/x",
		"file:///d/e#sec&~b": "file:///d/e#sec",
		"file:///d/e&~b":     "file:///d/e",
		"doc:~b//a/b?v=2":    "doc:/a/b?v=2",
		"doc:~b///host/a":    "doc://host/a",
	} {
		t.Run("true/6 made "+made, func(t *testing.T) {
			ref, miss := c.Resource(made)
			if miss != nil || ref.Server != "b" || ref.Name != own {
				t.Errorf("it leads to %+v, %+v", ref, miss)
			}
			ref, miss = c.Resource(own)
			if miss != nil || ref.Server != "a" || ref.Name != own {
				t.Errorf("%s leads to %+v, %+v", own, ref, miss)
			}
			equalTo(t, own, c.OutURI("a", own))
			if ref, miss := c.Resource(c.OutURI("b", own)); miss != nil || ref.Server != "b" || ref.Name != own {
				t.Errorf("%s of b is told as %s, which leads to %+v, %+v", own, c.OutURI("b", own), ref, miss)
			}
		})
	}
}

func TestOlderInterfaceKey(t *testing.T) {
	app := `{"name":"app","inputSchema":{"type":"object"},"_meta":{"ui/resourceUri":"ui://app","ui":{"resourceUri":"ui://app"}}}`
	c := Merge([]Source{
		withResources(server("a", app), []string{resourceItem("ui://app")}, nil),
		withResources(server("b", app), []string{resourceItem("ui://app")}, nil),
	}, Options{})
	t.Run("true/6 both keys of a tool", func(t *testing.T) {
		equalTo(t, 2, strings.Count(string(c.List(Tools, View{UI: true})), `"ui://~b/app"`))
	})
}

func TestSkillDescription(t *testing.T) {
	c := Merge([]Source{withResources(server("a"), []string{resourceItem("skill://x/SKILL.md"), resourceItem("skill://x/a.md")}, nil), server("b")}, Options{})
	t.Run("true/5 the description of a skill is its file's", func(t *testing.T) {
		items := listed(t, c, Resources, View{})
		equalTo(t, "d", items[0].Description)
		equalTo(t, "[a] d", items[1].Description)
	})
}

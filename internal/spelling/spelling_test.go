package spelling

import (
	"strings"
	"testing"
)

func TestNearest(t *testing.T) {
	for _, tt := range []struct {
		candidates string
		slips      map[string]string
	}{
		{"search_issues search_code create_issue list_repos", map[string]string{
			"serach_issues": "search_issues", "searchissues": "search_issues", "repos": "list_repos", "zzz": "", "create_issues": "create_issue",
		}},
		{"command args env headers cwd inheritEnv", map[string]string{
			"comand": "command", "Command": "command", "agrs": "args", "arg": "args", "enviroment": "", "heders": "headers", "xyz": "",
			"inheritenv": "inheritEnv", strings.Repeat("x", 100): "",
		}},
		{"init list remove", map[string]string{"in": "init", "lst": "list", "xy": "", "x": "", "rexovx": "remove", "lxxt": "", "": "", "rm": ""}},
	} {
		for name, want := range tt.slips {
			if got := Nearest(name, strings.Fields(tt.candidates)); got != want {
				t.Errorf("Nearest(%q) = %q, want %q", name, got, want)
			}
		}
	}
}

func TestDistance(t *testing.T) {
	for _, tt := range []struct {
		a, b        string
		limit, want int
	}{
		{"issue", "issue", 2, 0}, {"isue", "issue", 2, 1}, {"iusse", "issue", 2, 2}, {"sisue", "issue", 2, 1},
		{"abc", "xyz", 2, 3}, {"a", "abcdef", 2, 3}, {strings.Repeat("a", 100), strings.Repeat("a", 100), 2, 3},
	} {
		if got := Distance([]rune(tt.a), []rune(tt.b), tt.limit); got != tt.want {
			t.Errorf("Distance(%q, %q) = %d, want %d", tt.a, tt.b, got, tt.want)
		}
	}
}

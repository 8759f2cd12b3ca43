package tasks

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"mcp-all-in-one/internal/access"
)

// TestListIsFiltered checks that a long list contains no tasks of other
// principals, and no tasks with the same id of another schema.
func TestListIsFiltered(t *testing.T) {
	book := NewBook()
	who := &access.Principal{ID: "key:a"}
	var list []string
	for i := range 10_000 {
		id := fmt.Sprintf("t%d", i)
		book.Own("first", "up", map[bool]string{true: "key:a", false: "key:b"}[i%2 == 0], nil, never, []byte(`{"taskId":"`+id+`"}`))
		list = append(list, `{"taskId":"`+id+`","status":"working"}`)
	}
	got := string(book.Rename("first", "up", false, "", who, []byte(`{"tasks":[`+strings.Join(list, ",")+`]}`)))
	if n := strings.Count(got, `"up~t`); n != 5000 || strings.Contains(got, `"up~t1"`) {
		t.Errorf("door/6: %d tasks are listed", n)
	}
	if book.Belong(Key{"second", "up", "t0"}, who) {
		t.Error("door/6: a task of another schema belongs to the key")
	}
}

func never() time.Time { return time.Time{} }

// TestIDsAgain checks that a task belongs to the principal whose call began it, also if
// the server gave its id to another one before it restarted.
func TestIDsAgain(t *testing.T) {
	book := NewBook()
	own := func(principal string, since func() time.Time) {
		book.Own("default", "up", principal, nil, since, []byte(`{"task":{"taskId":"t1"}}`))
	}
	owner := func() string {
		known, _ := book.of(Key{"default", "up", "t1"})
		return known.owner
	}
	own("key:a", never)
	if own("key:b", never); owner() != "key:a" {
		t.Errorf("without a restart it belongs to %s", owner())
	}
	restart := time.Now()
	if own("key:b", func() time.Time { return restart }); owner() != "key:b" {
		t.Errorf("after a restart it belongs to %s", owner())
	}
	if own("key:a", func() time.Time { return restart }); owner() != "key:b" {
		t.Errorf("then it belongs to %s", owner())
	}
	if n := len(book.owned["key:a"]); n != 0 {
		t.Errorf("the first owner has %d tasks", n)
	}
}

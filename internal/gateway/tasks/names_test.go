package tasks

import (
	"fmt"
	"strings"
	"testing"

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
		book.Own("first", "up", map[bool]string{true: "key:a", false: "key:b"}[i%2 == 0], nil, []byte(`{"taskId":"`+id+`"}`))
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

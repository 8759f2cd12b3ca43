package inbox

import (
	"context"
	"sync"
	"testing"

	"mcp-all-in-one/internal/access"
)

// TestInboxShare checks that one principal cannot take all slots.
func TestInboxShare(t *testing.T) {
	var b Inbox
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	for range questionShare {
		w := &waiting{Question: Question{From: "key:a"}}
		if !b.add(w) {
			t.Fatal("declined within its share")
		}
	}
	if a, err := b.Ask(ctx, Question{From: "key:a"}); err != nil || a.Action != "decline" {
		t.Errorf("beyond its share: %+v, %v", a, err)
	}
	added := make(chan struct{}, 1)
	b.Watch(func() {
		select {
		case added <- struct{}{}:
		default:
		}
	})
	wg.Go(func() { _, _ = b.Ask(ctx, Question{From: "key:b", To: "key:b"}) })
	<-added
	if list := b.List(access.Principal{ID: "key:b"}); len(list) != 1 {
		t.Errorf("another principal's question: %+v", list)
	}
}

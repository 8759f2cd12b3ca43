package web

import (
	"context"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"mcp-all-in-one/internal/access"
)

// TestNotices checks that another replica is told soon that something has changed,
// and not of each change when there are many.
func TestNotices(t *testing.T) {
	t.Run("cluster/events/many", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			h, err := New(t.Context(), memoryOptions())
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(access.With(t.Context(), access.Owner))
			w := httptest.NewRecorder()
			var serving sync.WaitGroup
			serving.Go(func() {
				h.ServePeer(w, httptest.NewRequestWithContext(ctx, "GET", "/x?topics=clients,inbox", nil), "events")
			})
			synctest.Wait()
			<-time.After(noticePause)
			told := func(topic string) int {
				synctest.Wait()
				return strings.Count(w.Body.String(), "event: "+topic+"\n")
			}
			for i := range 200 {
				h.ClientsChanged()
				if n := told("clients"); n != 1 {
					t.Fatalf("told %d times after %d changes", n, i+1)
				}
				<-time.After(noticePause / 400)
			}
			h.hub.changed("inbox")
			<-time.After(noticePause)
			if clients, inbox := told("clients"), told("inbox"); clients != 2 || inbox != 1 {
				t.Errorf("told %d and %d times", clients, inbox)
			}
			cancel()
			serving.Wait()
			if err := h.Close(); err != nil {
				t.Error(err)
			}
		})
	})
}

package cache

import (
	"strconv"
	"testing"
	"testing/synctest"
	"time"
)

func TestStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s Store
		get := func(name string) string {
			data, _, _ := s.Get(KeyOf(name))
			return string(data)
		}
		if get("a") != "" {
			t.Error("an empty store has something")
		}
		s.Put(KeyOf("a"), []byte("1"), nil, time.Minute)
		s.Put(KeyOf("a"), []byte("2"), nil, time.Minute)
		if got := get("a"); got != "2" {
			t.Errorf("it is %q", got)
		}
		time.Sleep(61 * time.Second)
		if get("a") != "" || s.size != 0 {
			t.Errorf("it outlived its time: %d bytes", s.size)
		}
		s.Put(KeyOf("large"), make([]byte, maxResult+1), nil, time.Hour)
		if get("large") != "" {
			t.Error("a result that is too large was kept")
		}
		for i := range 40 {
			s.Put(KeyOf(strconv.Itoa(i)), make([]byte, maxResult), nil, time.Hour)
			get("0")
		}
		if s.size > maxAll || get("1") != "" || get("0") == "" || get("39") == "" {
			t.Errorf("%d bytes are kept, of the wrong results", s.size)
		}
		s.Clear()
		if get("39") != "" || s.size != 0 {
			t.Error("something is left")
		}
	})
	if KeyOf("ab", "c") == KeyOf("a", "bc") {
		t.Error("parts run into each other")
	}
}

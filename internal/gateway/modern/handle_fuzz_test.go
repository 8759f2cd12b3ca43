package modern

import (
	"testing"
	"time"
)

// FuzzSeal checks that only our own unchanged handles open, and only for the
// principal and the purpose that they were made for.
//
// fault/T40
func FuzzSeal(f *testing.F) {
	s := NewSealer(nil)
	good := s.Seal(Handle{Call: "p", Principal: "a", Digest: "d", Expires: time.Now().Add(time.Hour).Unix()})
	f.Add(good, "a", "d")
	f.Add(good, "b", "d")
	f.Add(good[:len(good)-1], "a", "d")
	f.Add(good+"A", "a", "d")
	f.Add("aio1.", "a", "d")
	f.Add("aio1.AAAA\n", "", "")
	f.Fuzz(func(t *testing.T, handle, principal, digest string) {
		v, ours, err := s.Open(handle, principal, digest)
		right := handle == good && principal == "a" && digest == "d"
		if ours && (err == nil) != right || right && v.Call != "p" {
			t.Fatalf("%q for %q, %q: %+v, %v", handle, principal, digest, v, err)
		}
	})
}

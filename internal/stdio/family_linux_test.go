package stdio

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestFamily follows one history of forks and exits; 100 is the helper, 10 and 20
// are children.
func TestFamily(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	var f family
	f.init(100, true)
	f.add(1, 10, nil)
	f.add(2, 20, []int{int(w.Fd())})
	at := func(pid, ppid, pgid, sid int) proc {
		return proc{pid: pid, ppid: ppid, pgid: pgid, sid: sid, start: uint64(pid)}
	}
	init, helper, ten, twenty := at(1, 0, 1, 1), at(100, 1, 100, 100), at(10, 100, 10, 100), at(20, 100, 20, 100)
	check := func(step string, want map[uint64][]int, list ...proc) {
		t.Helper()
		got := make(map[uint64][]int)
		for id, tree := range f.survey(append([]proc{init, helper}, list...)) {
			for _, p := range tree {
				got[id] = append(got[id], p.pid)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", step, diff)
		}
	}
	check("parents", map[uint64][]int{1: {10, 11, 12}, 2: {20}},
		ten, at(11, 10, 10, 100), at(12, 11, 12, 12), twenty, at(30, 1, 10, 100))
	check("remembered though its parent is gone", map[uint64][]int{1: {10, 12}, 2: {20}},
		ten, at(12, 100, 12, 12), twenty)
	check("known by the session of one that was remembered", map[uint64][]int{1: {10, 12, 13}, 2: {20}},
		ten, at(12, 100, 12, 12), at(13, 100, 13, 12), twenty)
	f.orphan(10)
	check("known by the group of the dead child", map[uint64][]int{1: {14}, 2: {20}},
		at(14, 100, 10, 100), twenty)
	check("numbers that nobody has any more are forgotten", map[uint64][]int{2: {20}}, twenty)
	check("so they can be used again", map[uint64][]int{2: {20}}, twenty, at(15, 100, 10, 100), at(12, 1, 12, 12))
	self := at(os.Getpid(), 100, 77, 77)
	check("known by a pipe", map[uint64][]int{2: {20, os.Getpid()}}, twenty, self)
	f.remove(2)
	check("removed", map[uint64][]int{}, twenty, self)
}

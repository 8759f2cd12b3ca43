//go:build unix

package stdio

import (
	"maps"

	"golang.org/x/sys/unix"
)

// A proc is one entry of the process table.
type proc struct {
	pid, ppid, pgid, sid int
	start                uint64 // distinguishes processes that had the same pid
	zombie               bool
}

type procKey struct {
	pid   int
	start uint64
}

func (p proc) key() procKey { return procKey{p.pid, p.start} }

// A family knows which process belongs to which child.
//
// A process belongs to a child if it is that child, if its parent belongs to it,
// if it was seen to belong to it before, if its process group or session belongs
// to it or, once its parent has exited, if it has one of the child's pipes open.
// A descendant that breaks all five ties before it is ever seen belongs to no
// child. It is killed when no child is left, and when the helper exits.
type family struct {
	self   int
	reaper bool               // orphans become children of self
	kids   map[int]uint64     // child's pid to its id
	seen   map[procKey]uint64 // to the id of a child
	groups map[int]uint64     // process group or session to the id of a child
	pipes  map[uint64]uint64  // inode of a pipe to the id of a child

	table map[int]proc // the last process table; kept to reuse its memory
}

func (f *family) init(self int, reaper bool) {
	f.self, f.reaper = self, reaper
	f.kids = make(map[int]uint64)
	f.seen = make(map[procKey]uint64)
	f.groups = make(map[int]uint64)
	f.pipes = make(map[uint64]uint64)
	f.table = make(map[int]proc)
}

// add registers a child that was started with the files fds.
func (f *family) add(id uint64, pid int, fds []int) {
	f.kids[pid] = id
	f.groups[pid] = id
	for _, fd := range fds {
		var st unix.Stat_t
		if unix.Fstat(fd, &st) == nil && st.Ino != 0 {
			f.pipes[uint64(st.Ino)] = id
		}
	}
}

// orphan notes that a child was reaped: its pid can be reused. Its group exists as
// long as it has members.
func (f *family) orphan(pid int) { delete(f.kids, pid) }

func (f *family) remove(id uint64) {
	disown(f.kids, id)
	disown(f.seen, id)
	disown(f.groups, id)
	disown(f.pipes, id)
}

func disown[K comparable](owners map[K]uint64, id uint64) {
	maps.DeleteFunc(owners, func(_ K, owner uint64) bool { return owner == id })
}

// survey records which process belongs to which child, and returns the living
// processes of each child.
func (f *family) survey(list []proc) map[uint64][]proc {
	f.index(list)
	trees := make(map[uint64][]proc)
	seen := make(map[procKey]uint64)
	groups := make(map[int]uint64)
	for _, p := range list {
		id := f.owner(p, 0)
		if id == 0 {
			continue
		}
		f.seen[p.key()] = id
		seen[p.key()] = id
		f.join(groups, p, id)
		if !p.zombie {
			trees[id] = append(trees[id], p)
		}
	}
	maps.Copy(groups, f.kids)
	// Forget exited processes: their pids can be reused.
	f.seen, f.groups = seen, groups
	return trees
}

// join records the group and the session of a process, except those of the helper.
func (f *family) join(groups map[int]uint64, p proc, id uint64) {
	for _, n := range []int{p.pgid, p.sid} {
		if n > 1 && n != f.self {
			groups[n] = id
		}
	}
}

// owner returns the id of the child that p belongs to, zero for none. It follows
// parents; depth ends a cycle in a table that changed while it was read.
func (f *family) owner(p proc, depth int) uint64 {
	if id, ok := f.kids[p.pid]; ok {
		return id
	}
	if id, ok := f.seen[p.key()]; ok {
		return id
	}
	if p.pid == f.self || p.pid <= 1 || depth > 1000 {
		return 0
	}
	if parent, ok := f.table[p.ppid]; ok {
		if id := f.owner(parent, depth+1); id != 0 {
			return id
		}
	}
	if f.reaper && p.ppid != f.self {
		return 0
	}
	if id, ok := f.groups[p.pgid]; ok {
		return id
	}
	if id, ok := f.groups[p.sid]; ok {
		return id
	}
	if !f.reaper {
		return 0
	}
	for _, inode := range openPipes(p.pid) {
		if id, ok := f.pipes[inode]; ok {
			return id
		}
	}
	return 0
}

// killStrays kills every descendant of the helper in a process table.
func (f *family) killStrays(list []proc) {
	f.index(list)
	for _, p := range list {
		if !p.zombie && f.descends(p) {
			_ = unix.Kill(p.pid, unix.SIGKILL)
		}
	}
}

func (f *family) index(list []proc) {
	clear(f.table)
	for _, p := range list {
		f.table[p.pid] = p
	}
}

func (f *family) descends(p proc) bool {
	_, ok := f.top(p)
	return ok
}

// top returns the child of this process that p descends from.
func (f *family) top(p proc) (proc, bool) {
	for range 1000 {
		if p.ppid == f.self {
			return p, true
		}
		parent, ok := f.table[p.ppid]
		if !ok || p.ppid <= 1 {
			return proc{}, false
		}
		p = parent
	}
	return proc{}, false
}

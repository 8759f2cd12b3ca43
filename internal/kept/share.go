package kept

import (
	"container/list"
	"time"
)

// A place is where results are kept.
type place int

const (
	memory place = iota
	disk
	places
)

// block is the size in which disks are filled: a small file takes a whole one.
const block = 4 << 10

// takes returns how much of a place a result takes.
func (p place) takes(size int64) int64 {
	if p == disk {
		return (size + block - 1) / block * block
	}
	return size
}

// A share is what one principal has in each place. The least recently read
// results are first.
type share [places]struct {
	list.List // of *entry
	size      int64
}

// has returns how much of a place a principal has.
func (s *Store) has(principal string, p place) int64 {
	if sh := s.shares[principal]; sh != nil {
		return sh[p].size
	}
	return 0
}

// most returns the principal that has most of a place.
func (s *Store) most(p place) (principal string) {
	for other := range s.shares {
		if s.has(other, p) > s.has(principal, p) {
			principal = other
		}
	}
	return principal
}

// inTheWay returns the next result that has to leave a place of the given size
// before one more fits; nil if there is none. One principal may have a quarter:
// beyond it, its own results leave. If the place is full, results of the principal
// that has most leave.
func (s *Store) inTheWay(p place, size int64, e *entry) *entry {
	who, takes := e.owner.Principal, p.takes(e.size)
	if n := s.has(who, p); n == 0 || n+takes <= size/4 {
		if s.size[p] == 0 || s.size[p]+takes <= size {
			return nil
		}
		who = s.most(p)
	}
	return s.shares[who][p].Front().Value.(*entry)
}

// put adds an entry to the share of its owner.
func (s *Store) put(e *entry, p place) {
	sh := s.shares[e.owner.Principal]
	if sh == nil {
		sh = new(share)
		s.shares[e.owner.Principal] = sh
	}
	before := sh[p].Back()
	for before != nil && before.Value.(*entry).used.After(e.used) {
		before = before.Prev()
	}
	if before == nil {
		e.at = sh[p].PushFront(e)
	} else {
		e.at = sh[p].InsertAfter(e, before)
	}
	e.place = p
	sh[p].size += p.takes(e.size)
	s.size[p] += p.takes(e.size)
}

// take removes an entry from the share of its owner.
func (s *Store) take(e *entry) {
	sh := s.shares[e.owner.Principal]
	sh[e.place].Remove(e.at)
	sh[e.place].size -= e.place.takes(e.size)
	s.size[e.place] -= e.place.takes(e.size)
	if sh[memory].Len() == 0 && sh[disk].Len() == 0 {
		delete(s.shares, e.owner.Principal)
	}
}

// touch notes that an entry was read.
func (s *Store) touch(e *entry, now time.Time) {
	e.used = now
	s.shares[e.owner.Principal][e.place].MoveToBack(e.at)
}

// expire drops results that were not read for too long.
func (s *Store) expire() {
	keep, _ := s.opt.Bounds()
	limit := s.opt.Now().Add(-keep)
	for _, sh := range s.shares {
		for p := range sh {
			for at := sh[p].Front(); at != nil && at.Value.(*entry).used.Before(limit); at = sh[p].Front() {
				e := at.Value.(*entry)
				s.drop(e)
				s.gone.add(e, expired(keep))
			}
		}
	}
}

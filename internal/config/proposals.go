package config

import (
	"mcp-all-in-one/internal/config/document"
	"mcp-all-in-one/internal/config/problem"
)

// sort tells the servers that the draft adds, changes or removes into those that
// wait for approval, or of which there is something to remember for one, and
// those that are the person's who writes.
func (o WriteOptions) sort(d *Draft, res *WriteResult, record *Approvals) (waiting, owned []proposal, err error) {
	if o.Load.Project && !o.Pending {
		return nil, nil, nil // of a project everything waits that is not approved
	}
	all, err := record.read()
	if err != nil {
		return nil, nil, err
	}
	old, now := layoutBelow(d.old), layoutBelow(d.root)
	before, was, after := old.byID(), old.hashes(), now.byID()
	propose := func(id, is string) proposal {
		p := proposal{id: id, was: was[id], is: is, by: o.By}
		p.waited = record.state(all, id, p.was, func() string { return record.filesOf(before[id]) }) != waitsNot
		if p.replaces = before[id] != nil && !p.waited; p.replaces {
			p.held = old.heldText(old.entry(id))
		}
		return p
	}
	for _, schema := range res.Config.Schemas {
		for _, s := range schema.Servers {
			id := s.ID()
			if v := before[id]; v != nil && v.Equal(after[id]) {
				continue
			}
			p := propose(id, s.ApprovalHash())
			unread := d.unread[id] || keeps(after[id])
			switch {
			case o.Pending || d.proposed[id]:
				res.Pending = append(res.Pending, id)
				if keeps(after[id]) {
					res.Kept = append(res.Kept, id)
				}
				s.Pending = true
				waiting = append(waiting, p)
			case p.waited && unread:
				waiting = append(waiting, p)
			case !unread:
				owned = append(owned, p)
			}
		}
	}
	for id := range before {
		switch p := propose(id, ""); {
		case after[id] != nil:
		case o.Pending:
			waiting = append(waiting, p)
		default:
			owned = append(owned, p)
		}
	}
	all.propose(waiting)
	now.tell(res, all)
	return waiting, owned, nil
}

// tell gives the servers that a write makes wait what it has taken away.
func (l *layout) tell(res *WriteResult, all marks) {
	for _, schema := range res.Config.Schemas {
		for _, s := range schema.Servers {
			if s.Pending {
				s.taken = l.takenBy(all, l.entry(s.ID()))
			}
		}
	}
}

// layoutBelow is the layout of a tree; an empty one when there is none.
func layoutBelow(root *document.Node) *layout {
	if root != nil {
		if l := takeApart(root, &problem.List{}); l != nil {
			return l
		}
	}
	return &layout{}
}

// byID are the entries of the servers by their id.
func (l *layout) byID() map[string]*document.Node {
	entries := map[string]*document.Node{}
	for _, e := range l.entries {
		entries[e.schema+"/"+e.name] = e.value
	}
	return entries
}

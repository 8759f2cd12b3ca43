package edit

import (
	"slices"
	"strings"

	"mcp-all-in-one/internal/config/approval"
	"mcp-all-in-one/internal/config/layout"
	"mcp-all-in-one/internal/disk"
	"mcp-all-in-one/internal/i18n"
)

// A RemovalError is a write of a client that would remove servers of a person's
// to which no person has agreed.
type RemovalError struct{ IDs []string }

func (e *RemovalError) Error() string { return e.In(i18n.English) }

// In says it in a language.
func (e *RemovalError) In(l i18n.Lang) string {
	return i18n.New("nobody has agreed to remove %s", "没有人同意移除 %s", i18n.Seen(strings.Join(e.IDs, ", "))).In(l)
}

// Removed are the ids of the servers that a client's edit of the file at path
// would remove, and that a person has written or approved. What only clients
// have written is not among them. An edit that would be refused is an error.
func Removed(path string, o WriteOptions, edit func(*Draft) error) ([]string, error) {
	o.Load = o.Load.WithDefaults()
	d, err := openDraft(disk.RealPath(path))
	if err == nil {
		err = edit(d)
	}
	if err == nil {
		_, _, err = o.check(d)
	}
	if err != nil {
		return nil, err
	}
	return o.removed(d, approval.Of(d.path, o.Load.Home, false).SharedBy(o.Load.Share))
}

func (o WriteOptions) removed(d *Draft, record *approval.Record) ([]string, error) {
	all, err := record.Read()
	if err != nil {
		return nil, err
	}
	old := layout.Below(d.old)
	was, after := old.Hashes(), layout.Below(d.root).ByID()
	var ids []string
	for id, entry := range old.ByID() {
		if after[id] != nil {
			continue
		}
		if all.Was(id) != nil || record.State(all, id, was[id], record.Scripts(entry), func() string { return record.FilesOf(entry) }) == approval.WaitsNot {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids, nil
}

// agreed holds what a client's write removes against what a person has agreed
// to: the file may have changed since that person was asked.
func (o WriteOptions) agreed(d *Draft, record *approval.Record) error {
	if !o.Pending {
		return nil
	}
	ids, err := o.removed(d, record)
	if err != nil {
		return err
	}
	ids = slices.DeleteFunc(ids, func(id string) bool { return slices.Contains(o.Agreed, id) })
	if len(ids) > 0 {
		return &RemovalError{ids}
	}
	return nil
}

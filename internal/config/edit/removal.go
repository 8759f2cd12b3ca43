package edit

import (
	"slices"
	"strings"

	"mcp-all-in-one/internal/config/approval"
	"mcp-all-in-one/internal/config/layout"
	"mcp-all-in-one/internal/disk"
	"mcp-all-in-one/internal/i18n"
)

// A RemovalError means that a client's write would remove servers that a person
// has written or approved, and no person has agreed.
type RemovalError struct{ IDs []string }

func (e *RemovalError) Error() string { return e.In(i18n.English) }

// In returns the message in a language.
func (e *RemovalError) In(l i18n.Lang) string {
	return i18n.New("no person has agreed to remove %s", "没有人同意移除 %s", i18n.Seen(strings.Join(e.IDs, ", "))).In(l)
}

// Removed returns the ids of the servers that a client's edit of the file at
// path would remove and that a person has written or approved. Servers that
// only clients have written are not included. It returns an error if the edit
// would be refused.
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

// agreed checks that a client's write removes only servers that a person has
// agreed to remove. The file may have changed since the person was asked.
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

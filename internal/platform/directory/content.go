package directory

import "paddock/fence"

// content is what was read from a file, on its way to readers.
type content struct {
	file       *file
	collection *fence.Collection
	sum        uint64 // hash of the file

	set  *fence.Set
	snap *fence.Snapshot // of the set, with this content

	restored bool // it came of a snapshot
}

// makeSet makes a set of the content, which no reader sees yet.
func (c *content) makeSet(o fence.Options) error {
	if c.set != nil {
		return nil // it came of a snapshot
	}
	set, err := fence.NewSet(c.file.set, o)
	if err != nil {
		return c.file.named(err)
	}
	snap, err := set.Replace(c.collection)
	if err != nil {
		return c.file.named(err)
	}
	c.set, c.snap = set, snap
	return nil
}

// report tells what was found in the content.
func (c *content) report() fence.SetReport {
	return fence.SetReport{
		Name: c.set.Name(), File: c.file.name, Stats: c.snap.Stats(),
		Skipped: c.collection.Skipped, Findings: c.snap.Findings(), Omitted: c.collection.Omitted,
	}
}

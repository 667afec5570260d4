// Package journaltest simulates the disk of a journal, and losses of its power.
package journaltest

import (
	"math/rand/v2"

	"github.com/cockroachdb/pebble/v2/vfs"

	"paddock/internal/platform/journal"
)

// Disk is a disk in memory that knows which writes were synced.
type Disk struct{ fs *vfs.MemFS }

// NewDisk returns an empty disk.
func NewDisk() *Disk { return &Disk{vfs.NewCrashableMem()} }

// Open opens the journal of the disk. With noSync it does not wait for the disk, so that a test can
// show that it notices the loss.
func (d *Disk) Open(noSync bool) (*journal.Disk, error) {
	return journal.Open(d.Options(journal.Options{Dir: "journal", NoSync: noSync}))
}

// Options returns options with which the journal is on this disk.
func (d *Disk) Options(o journal.Options) journal.Options {
	o.FS = d.fs
	return o
}

// Cut returns the disk as it may be after a loss of power at this moment: with everything that was
// synced, and a random part of the rest. The disk itself goes on.
func (d *Disk) Cut(r *rand.Rand) *Disk {
	return &Disk{d.fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: r.IntN(101), RNG: r})}
}

package journal

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/cespare/xxhash/v2"
	"github.com/cockroachdb/pebble/v2"
)

const (
	// keptCheckpoints is the number of checkpoints of a partition: the newest one may be damaged.
	keptCheckpoints = 2
	// chunk is the length of the pieces in which a state is stored.
	chunk = 512 << 10
)

// A checkpoint is stored in one of the slots of its partition: its chunks, and then the manifest,
// whose presence makes it count: number, length and hash of the state.
func checkpointKey(partition, slot int, index uint32) []byte {
	return binary.BigEndian.AppendUint32([]byte{keyCheckpoint, byte(partition), byte(slot)}, index)
}

const manifest = 1<<32 - 1

// SaveCheckpoint implements [Journal].
func (d *Disk) SaveCheckpoint(partition int, number uint64, state []byte) error {
	slot := 0
	kept, err := d.slots(partition)
	if err != nil {
		return err
	}
	if len(kept) > 0 {
		slot = (kept[0].slot + 1) % keptCheckpoints
	}
	b := d.db.NewBatch()
	if err := b.DeleteRange(checkpointKey(partition, slot, 0), checkpointKey(partition, slot+1, 0), nil); err != nil {
		return errors.Join(err, b.Close())
	}
	index := uint32(0)
	for rest := state; len(rest) > 0; index++ {
		n := min(len(rest), chunk)
		if err := b.Set(checkpointKey(partition, slot, index), rest[:n], nil); err != nil {
			return errors.Join(err, b.Close())
		}
		rest = rest[n:]
	}
	value := binary.BigEndian.AppendUint64(nil, number)
	value = binary.BigEndian.AppendUint64(value, uint64(len(state)))
	value = binary.BigEndian.AppendUint64(value, xxhash.Sum64(state))
	if err := b.Set(checkpointKey(partition, slot, manifest), value, nil); err != nil {
		return errors.Join(err, b.Close())
	}
	return d.write(b, pebble.NoSync)
}

// slotted is a manifest.
type slotted struct {
	slot         int
	number       uint64
	length, hash uint64
}

// slots returns the manifests of a partition, the newest one first.
func (d *Disk) slots(partition int) (kept []slotted, err error) {
	for slot := range keptCheckpoints {
		value, err := d.get(checkpointKey(partition, slot, manifest))
		switch {
		case errors.Is(err, ErrNotFound):
			continue
		case err != nil:
			return nil, err
		case len(value) != 24:
			return nil, fmt.Errorf("%w: %s: the checkpoint of partition %d", ErrDamaged, d.dir, partition)
		}
		s := slotted{slot, binary.BigEndian.Uint64(value), binary.BigEndian.Uint64(value[8:]), binary.BigEndian.Uint64(value[16:])}
		if len(kept) > 0 && kept[0].number < s.number {
			kept = []slotted{s, kept[0]}
		} else {
			kept = append(kept, s)
		}
	}
	return kept, nil
}

// Checkpoints implements [Journal]. A state whose bytes do not have its hash is left out. A failed
// read is an error, as no write of the journal succeeds behind it.
func (d *Disk) Checkpoints(partition int) ([]Checkpoint, error) {
	kept, err := d.slots(partition)
	if err != nil {
		return nil, err
	}
	var all []Checkpoint
	for _, s := range kept {
		var state []byte
		for index := uint32(0); uint64(len(state)) < s.length; index++ {
			part, err := d.get(checkpointKey(partition, s.slot, index))
			if errors.Is(err, ErrNotFound) {
				break
			}
			if err != nil {
				return nil, err
			}
			state = append(state, part...)
		}
		if uint64(len(state)) == s.length && xxhash.Sum64(state) == s.hash {
			all = append(all, Checkpoint{s.number, state})
		}
	}
	return all, nil
}

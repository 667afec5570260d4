package history

import (
	"fmt"
	"slices"

	"paddock/internal/platform/journal"
)

// Mend completes the history in a journal of which a part was lost: objects that have positions are
// listed again. The history continues behind a record.
func Mend(j journal.Journal, record uint64) error {
	last := map[string]int64{}
	for _, kind := range []string{blocks, fragments} {
		if err := j.Values(kind, "", func(v journal.Value) error {
			number, rest, ok := cutNumber(v.Name[len(kind):])
			_, object, _, also := cutObject(rest)
			if !ok || !also {
				return fmt.Errorf("%w: %q is no block", journal.ErrDamaged, v.Name)
			}
			if known, there := last[object]; !there || number > known {
				last[object] = number
			}
			return nil
		}); err != nil {
			return err
		}
	}
	values := []journal.Value{progressValue("records", record)}
	for object, number := range last {
		values = append(values, journal.Value{Name: lastDays + object, Bytes: appendNumber(nil, number)})
	}
	for part := range slices.Chunk(values, batchValues) {
		if err := j.Change(nil, part...); err != nil {
			return err
		}
	}
	return nil
}

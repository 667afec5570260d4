package journal

import (
	"maps"
	"slices"
	"strings"
	"sync"
)

// Memory is a journal that ends with the process.
type Memory struct {
	mu          sync.RWMutex
	oldest      uint64   // number of records[0]
	records     [][]byte // by number
	pieces      []Piece
	committed   Piece // without its events
	checkpoints map[int][]Checkpoint
	values      map[string][]byte
}

var _ Journal = (*Memory)(nil)

// NewMemory returns an empty journal.
func NewMemory() *Memory {
	return &Memory{oldest: 1, committed: noPiece, checkpoints: map[int][]Checkpoint{}, values: map[string][]byte{}}
}

// Clone returns a journal with the present contents, which changes apart from m.
func (m *Memory) Clone() *Memory {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return &Memory{
		oldest: m.oldest, records: slices.Clone(m.records), pieces: slices.Clone(m.pieces),
		committed: m.committed, checkpoints: maps.Clone(m.checkpoints), values: m.values,
	}
}

// Append implements [Journal].
func (m *Memory) Append(record []byte) (uint64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.records = append(m.records, slices.Clone(record))
	return m.oldest + uint64(len(m.records)) - 1, nil
}

// Bounds implements [Journal].
func (m *Memory) Bounds() (oldest, newest uint64) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.oldest, m.oldest + uint64(len(m.records)) - 1
}

// Records implements [Journal].
func (m *Memory) Records(from uint64, f func(number uint64, record []byte) error) error {
	m.mu.RLock()
	oldest, records := m.oldest, m.records
	m.mu.RUnlock()
	for i, r := range records {
		if n := oldest + uint64(i); n >= from {
			if err := f(n, r); err != nil {
				return err
			}
		}
	}
	return nil
}

// Commit implements [Journal].
func (m *Memory) Commit(p Piece) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !p.follows(&m.committed) {
		return ErrOrder
	}
	p.Events = slices.Clone(p.Events)
	m.pieces = append(m.pieces, p)
	p.Events = nil
	m.committed = p
	return nil
}

// Committed implements [Journal].
func (m *Memory) Committed() Piece {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.committed
}

// OldestEvent implements [Journal].
func (m *Memory) OldestEvent() uint64 {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if len(m.pieces) == 0 {
		return m.committed.Next()
	}
	return m.pieces[0].First
}

// from returns the index of the piece that holds a cursor.
func (m *Memory) from(cursor uint64) int {
	n, _ := slices.BinarySearchFunc(m.pieces, cursor, func(p Piece, cursor uint64) int {
		if p.Next() <= cursor {
			return -1
		}
		return 1
	})
	return n
}

// Pieces implements [Journal].
func (m *Memory) Pieces(from uint64, f func(Piece) error) error {
	m.mu.RLock()
	pieces := m.pieces[m.from(from):]
	m.mu.RUnlock()
	for _, p := range pieces {
		if err := f(p); err != nil {
			return err
		}
	}
	return nil
}

// SaveCheckpoint implements [Journal].
func (m *Memory) SaveCheckpoint(partition int, number uint64, state []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	kept := append([]Checkpoint{{number, slices.Clone(state)}}, m.checkpoints[partition]...)
	m.checkpoints[partition] = kept[:min(len(kept), keptCheckpoints)]
	return nil
}

// Checkpoints implements [Journal].
func (m *Memory) Checkpoints(partition int) ([]Checkpoint, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return slices.Clone(m.checkpoints[partition]), nil
}

// Put implements [Journal].
func (m *Memory) Put(values ...Value) error { return m.Change(nil, values...) }

// Get implements [Journal].
func (m *Memory) Get(name string) ([]byte, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	value, ok := m.values[name]
	if !ok {
		return nil, ErrNotFound
	}
	return value, nil
}

// Names implements [Journal].
func (m *Memory) Names(prefix string) (names []string, err error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	for name := range m.values {
		if strings.HasPrefix(name, prefix) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, nil
}

// Values implements [Journal].
func (m *Memory) Values(prefix, from string, f func(Value) error) error {
	names, _ := m.Names(prefix)
	m.mu.RLock()
	values := m.values
	m.mu.RUnlock()
	for _, name := range names {
		if value, ok := values[name]; ok && name >= from {
			if err := f(Value{name, value}); err != nil {
				return err
			}
		}
	}
	return nil
}

// Remove implements [Journal].
func (m *Memory) Remove(names ...string) error {
	return m.change(func(all map[string][]byte) {
		for _, name := range names {
			delete(all, name)
		}
	})
}

// Change implements [Journal].
func (m *Memory) Change(remove []Span, put ...Value) error {
	return m.change(func(all map[string][]byte) {
		if len(remove) > 0 {
			maps.DeleteFunc(all, func(name string, _ []byte) bool {
				return slices.ContainsFunc(remove, func(s Span) bool { return s.From <= name && name < s.To })
			})
		}
		for _, v := range put {
			all[v.Name] = slices.Clone(v.Bytes)
		}
	})
}

// change changes a copy of the values, as readers have the old one.
func (m *Memory) change(f func(all map[string][]byte)) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := maps.Clone(m.values)
	f(all)
	m.values = all
	return nil
}

// TrimRecords implements [Journal].
func (m *Memory) TrimRecords(before uint64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if before > m.oldest {
		n := min(before-m.oldest, uint64(len(m.records)))
		m.records = slices.Clone(m.records[n:])
		m.oldest += n
	}
	return nil
}

// TrimPieces implements [Journal].
func (m *Memory) TrimPieces(before uint64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if n := min(m.from(before), len(m.pieces)-1); n > 0 {
		m.pieces = slices.Clone(m.pieces[n:])
	}
	return nil
}

// Close implements [Journal].
func (m *Memory) Close() error { return nil }

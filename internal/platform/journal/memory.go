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
	pieces      []piece
	committed   Place
	last        bool
	checkpoints map[int][]Checkpoint
	values      map[string][]byte
}

type piece struct {
	at     Place
	events []byte
}

var _ Journal = (*Memory)(nil)

// NewMemory returns an empty journal.
func NewMemory() *Memory {
	return &Memory{oldest: 1, last: true, checkpoints: map[int][]Checkpoint{}, values: map[string][]byte{}}
}

// Clone returns a journal with the present contents, which changes apart from m.
func (m *Memory) Clone() *Memory {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return &Memory{
		oldest: m.oldest, records: slices.Clone(m.records), pieces: slices.Clone(m.pieces),
		committed: m.committed, last: m.last, checkpoints: maps.Clone(m.checkpoints), values: m.values,
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
func (m *Memory) Commit(at Place, last bool, events []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !at.follows(m.committed, m.last) {
		return ErrOrder
	}
	m.pieces = append(m.pieces, piece{at, slices.Clone(events)})
	m.committed, m.last = at, last
	return nil
}

// Committed implements [Journal].
func (m *Memory) Committed() (Place, bool) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.committed, m.last
}

// Pieces implements [Journal].
func (m *Memory) Pieces(from Place, f func(at Place, events []byte) error) error {
	m.mu.RLock()
	pieces := m.pieces
	m.mu.RUnlock()
	for _, p := range pieces {
		if p.at.Number < from.Number || p.at.Number == from.Number && p.at.Piece < from.Piece {
			continue
		}
		if err := f(p.at, p.events); err != nil {
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
func (m *Memory) Put(values ...Value) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := maps.Clone(m.values) // readers have the old one
	for _, v := range values {
		all[v.Name] = slices.Clone(v.Bytes)
	}
	m.values = all
	return nil
}

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

// Remove implements [Journal].
func (m *Memory) Remove(names ...string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	values := maps.Clone(m.values)
	for _, name := range names {
		delete(values, name)
	}
	m.values = values
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
	n, _ := slices.BinarySearchFunc(m.pieces, before, func(p piece, before uint64) int {
		if p.at.Number < before {
			return -1
		}
		return 1
	})
	m.pieces = slices.Clone(m.pieces[n:])
	return nil
}

// Close implements [Journal].
func (m *Memory) Close() error { return nil }

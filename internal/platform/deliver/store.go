package deliver

import (
	"maps"
	"slices"
	"strings"
	"sync"

	"paddock/internal/platform/journal"
)

// Store keeps values under names. A [journal.Journal] is one.
type Store interface {
	// Put stores values durably, and Change without waiting for the disk.
	Put(values ...journal.Value) error
	Change(remove []journal.Span, put ...journal.Value) error
	Get(name string) ([]byte, error)
	Values(prefix, from string, f func(v journal.Value) error) error
}

// Volatile is a store that ends with the process.
type Volatile struct {
	mu     sync.Mutex
	values map[string][]byte
}

// Put implements [Store].
func (s *Volatile) Put(values ...journal.Value) error { return s.Change(nil, values...) }

// Change implements [Store].
func (s *Volatile) Change(remove []journal.Span, put ...journal.Value) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, span := range remove {
		if span == journal.Only(span.From) {
			delete(s.values, span.From)
			continue
		}
		maps.DeleteFunc(s.values, func(name string, _ []byte) bool { return span.From <= name && name < span.To })
	}
	if s.values == nil {
		s.values = map[string][]byte{}
	}
	for _, v := range put {
		s.values[v.Name] = slices.Clone(v.Bytes)
	}
	return nil
}

// Get implements [Store].
func (s *Volatile) Get(name string) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if v, ok := s.values[name]; ok {
		return v, nil
	}
	return nil, journal.ErrNotFound
}

// Values implements [Store].
func (s *Volatile) Values(prefix, from string, f func(v journal.Value) error) error {
	var found []journal.Value
	s.mu.Lock()
	for name, v := range s.values {
		if strings.HasPrefix(name, prefix) && name >= from {
			found = append(found, journal.Value{Name: name, Bytes: v})
		}
	}
	s.mu.Unlock()
	slices.SortFunc(found, func(a, b journal.Value) int { return strings.Compare(a.Name, b.Name) })
	for _, v := range found {
		if err := f(v); err != nil {
			return err
		}
	}
	return nil
}

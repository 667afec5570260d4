package journal

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// An overlay answers as a journal that has all changes, and the journal below it stays as it was.
func TestOverlay(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	below, want := NewMemory(), NewMemory()
	name := func() string { return fmt.Sprintf("v/%02d", r.IntN(40)) }
	for range 30 {
		v := Value{name(), []byte(name())}
		if err := errors.Join(below.Put(v), want.Put(v)); err != nil {
			t.Fatal(err)
		}
	}
	before := listed(t, below, "")
	o, err := NewOverlay(below, 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	for range 500 {
		var remove []Span
		var put []Value
		switch r.IntN(4) {
		case 0:
			from, to := name(), name()
			remove = []Span{{min(from, to), max(from, to)}}
		case 1:
			remove = []Span{Only(name())}
		default:
			put = []Value{{name(), []byte(name())}}
		}
		if err := errors.Join(o.Change(remove, put...), want.Change(remove, put...)); err != nil {
			t.Fatal(err)
		}
		from := name()
		if got, want := listed(t, o, from), listed(t, want, from); !slices.Equal(got, want) {
			t.Fatalf("from %s: %v, want %v", from, got, want)
		}
		one := name()
		got, err := o.Get(one)
		other, expected := want.Get(one)
		if string(got) != string(other) || !errors.Is(err, expected) {
			t.Fatalf("%s: %q %v, want %q %v", one, got, err, other, expected)
		}
	}
	if after := listed(t, below, ""); !slices.Equal(after, before) {
		t.Errorf("the journal below has %v, had %v", after, before)
	}
	if err := o.Close(); err != nil {
		t.Error(err)
	}
}

// listed returns the values below v/ from a name on.
func listed(t *testing.T, j Journal, from string) (all []string) {
	t.Helper()
	if err := j.Values("v/", from, func(v Value) error {
		all = append(all, v.Name+"="+string(v.Bytes))
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return all
}

// The memory of an overlay is bounded.
func TestOverlayIsBounded(t *testing.T) {
	o, err := NewOverlay(NewMemory(), 8<<20)
	if err != nil {
		t.Fatal(err)
	}
	for n := 0; ; n++ {
		b := make([]byte, 64<<10)
		for i := range b {
			b[i] = byte(rand.Int())
		}
		err := o.Put(Value{fmt.Sprint("v/", n), b})
		if errors.Is(err, ErrOverlay) && n > 50 {
			break
		}
		if err != nil || n > 1000 {
			t.Fatalf("%d values of 64 KiB: %v", n, err)
		}
	}
	if err := o.Close(); err != nil {
		t.Error(err)
	}
}

package budget

import "testing"

func TestLease(t *testing.T) {
	m := New(300_000)
	a, b := m.Lease(), m.Lease()
	for _, step := range []struct {
		l    *Lease
		n    int64
		ok   bool
		used int64
	}{
		{a, 1000, true, 0}, // free
		{a, 100_000, true, 100_000},
		{a, 50_000, true, 100_000}, // has it already
		{b, 200_000, true, 300_000},
		{b, 200_001, false, 300_000},
		{a, Free, true, 300_000},
	} {
		if ok := step.l.Hold(step.n); ok != step.ok || m.Used() != step.used {
			t.Errorf("%d: %v, used %d", step.n, ok, m.Used())
		}
	}
	a.Release()
	a.Release()
	if b.Release(); m.Used() != 0 || m.Refused() != 1 {
		t.Errorf("used %d, refused %d", m.Used(), m.Refused())
	}
}

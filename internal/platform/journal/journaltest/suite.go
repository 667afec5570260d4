package journaltest

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"paddock/internal/platform/journal"
)

// Maker makes an empty journal. reopen opens it again after it was closed; nil: it ends with the
// process.
type Maker func(t *testing.T) (j journal.Journal, reopen func() journal.Journal)

// Suite tests what every journal promises.
func Suite(t *testing.T, open Maker) {
	t.Helper()
	for name, test := range map[string]func(t *testing.T, open Maker){
		"records": testRecords, "pieces": testPieces, "checkpoints": testCheckpoints, "values": testValues, "changes": testChanges, "trim": testTrim,
	} {
		t.Run(name, func(t *testing.T) { test(t, open) })
	}
}

// try runs a test on a journal. check is called for what fill has left: with the journal itself,
// and after it was closed and opened again.
func (open Maker) try(t *testing.T, fill, check func(t *testing.T, j journal.Journal)) {
	t.Helper()
	j, reopen := open(t)
	fill(t, j)
	check(t, j)
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	if reopen == nil {
		return
	}
	j = reopen()
	check(t, j)
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
}

func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// records returns the records from a number on, as "1=a 2=b".
func records(t testing.TB, j journal.Journal, from uint64) string {
	t.Helper()
	var all []string
	ok(t, j.Records(from, func(n uint64, r []byte) error {
		all = append(all, fmt.Sprintf("%d=%s", n, r))
		return nil
	}))
	return strings.Join(all, " ")
}

func pieces(t testing.TB, j journal.Journal, from uint64) string {
	t.Helper()
	var all []string
	ok(t, j.Pieces(from, func(p journal.Piece) error {
		all = append(all, fmt.Sprintf("%d+%d=%d.%d %d %s", p.First, p.Count, p.At.Number, p.At.Piece, p.Time, p.Events))
		return nil
	}))
	return strings.Join(all, "; ")
}

func expect(t testing.TB, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func place(number uint64, piece uint32) journal.Place {
	return journal.Place{Number: number, Piece: piece}
}

func value(name string, b []byte) journal.Value { return journal.Value{Name: name, Bytes: b} }

func span(from, to string) journal.Span { return journal.Span{From: from, To: to} }

func testRecords(t *testing.T, open Maker) {
	open.try(t, func(t *testing.T, j journal.Journal) {
		if oldest, newest := j.Bounds(); oldest != 1 || newest != 0 {
			t.Errorf("empty: %d to %d", oldest, newest)
		}
		for i, r := range []string{"a", "", "c"} {
			buffer := []byte(r)
			if n, err := j.Append(buffer); err != nil || n != uint64(i)+1 {
				t.Errorf("record %d has number %d: %v", i, n, err)
			}
			clear(buffer) // the journal has its own copy
		}
	}, func(t *testing.T, j journal.Journal) {
		if oldest, newest := j.Bounds(); oldest != 1 || newest != 3 {
			t.Errorf("%d to %d", oldest, newest)
		}
		expect(t, records(t, j, 0), "1=a 2= 3=c")
		expect(t, records(t, j, 3), "3=c")
		expect(t, records(t, j, 4), "")
		enough := errors.New("enough")
		if err := j.Records(1, func(uint64, []byte) error { return enough }); !errors.Is(err, enough) {
			t.Errorf("error %v", err)
		}
	})
}

func testPieces(t *testing.T, open Maker) {
	open.try(t, func(t *testing.T, j journal.Journal) {
		if p := j.Committed(); p.At != (journal.Place{}) || !p.Last || p.Next() != 1 || j.OldestEvent() != 1 {
			t.Errorf("empty: %+v", p)
		}
		for _, c := range []struct {
			at    journal.Place
			last  bool
			first uint64
			count int
			err   error
		}{
			{place(1, 1), true, 1, 1, journal.ErrOrder},
			{place(1, 0), true, 2, 1, journal.ErrOrder},
			{place(1, 0), true, 1, 0, journal.ErrOrder},
			{place(1, 0), true, 1, 3, nil},
			{place(1, 1), true, 4, 1, journal.ErrOrder}, // 1.0 was the last one
			{place(1, 0), true, 4, 1, journal.ErrOrder},
			{place(3, 0), false, 4, 2, nil}, // record 2 has no events
			{place(4, 0), true, 6, 1, journal.ErrOrder},
			{place(3, 1), false, 6, 1, nil},
			{place(3, 3), true, 7, 1, journal.ErrOrder},
		} {
			events := fmt.Appendf(nil, "%v", c.at)
			err := j.Commit(journal.Piece{At: c.at, Last: c.last, First: c.first, Count: c.count, Time: -int64(c.first), Events: events})
			if !errors.Is(err, c.err) {
				t.Errorf("%v: error %v, want %v", c.at, err, c.err)
			}
			clear(events) // the journal has its own copy
		}
	}, func(t *testing.T, j journal.Journal) {
		const one, two, three = "1+3=1.0 -1 {1 0}", "4+2=3.0 -4 {3 0}", "6+1=3.1 -6 {3 1}"
		for from, want := range []string{one + "; " + two + "; " + three, 3: one + "; " + two + "; " + three, 4: two + "; " + three, 5: two + "; " + three, 6: three, 8: ""} {
			if want != "" || from == 8 {
				expect(t, pieces(t, j, uint64(from)), want)
			}
		}
		if p := j.Committed(); p.At != place(3, 1) || p.Last || p.Next() != 7 || p.Events != nil || j.OldestEvent() != 1 {
			t.Errorf("%+v", p)
		}
	})
}

func testCheckpoints(t *testing.T, open Maker) {
	large := bytes.Repeat([]byte("0123456789"), 150_000)
	open.try(t, func(t *testing.T, j journal.Journal) {
		for n := range uint64(3) {
			ok(t, j.SaveCheckpoint(63, 10*(n+1), large[:len(large)-int(n)]))
			ok(t, j.SaveCheckpoint(0, n, fmt.Append(nil, n)))
		}
		ok(t, j.SaveCheckpoint(5, 1, nil))
	}, func(t *testing.T, j journal.Journal) {
		for partition, want := range map[int]string{0: "2: 2; 1: 1; ", 63: "30: 1499998; 20: 1499999; ", 5: "1: ; ", 7: ""} {
			all, err := j.Checkpoints(partition)
			ok(t, err)
			got := ""
			for _, c := range all {
				text := string(c.State)
				if len(text) > 10 {
					if !bytes.Equal(c.State, large[:len(c.State)]) {
						t.Errorf("partition %d: other bytes", partition)
					}
					text = fmt.Sprint(len(text))
				}
				got += fmt.Sprintf("%d: %s; ", c.Number, text)
			}
			expect(t, got, want)
		}
	})
}

func testValues(t *testing.T, open Maker) {
	open.try(t, func(t *testing.T, j journal.Journal) {
		ok(t, j.Put(value("a", []byte("1"))))
		ok(t, j.Put(value("b/c", nil)))
		ok(t, j.Put(value("a", []byte("2"))))
		ok(t, j.Put(value("b/d", []byte("3"))))
		ok(t, j.Put(value("c", []byte("4"))))
		ok(t, j.Remove("b/d", "none"))
		ok(t, j.Remove())
	}, func(t *testing.T, j journal.Journal) {
		for name, want := range map[string]string{"a": "2", "b/c": ""} {
			got, err := j.Get(name)
			ok(t, err)
			expect(t, string(got), want)
		}
		for _, name := range []string{"b", "b/d"} {
			if _, err := j.Get(name); !errors.Is(err, journal.ErrNotFound) {
				t.Errorf("%s: error %v", name, err)
			}
		}
		names, err := j.Names("b")
		ok(t, err)
		expect(t, strings.Join(names, " "), "b/c")
	})
}

func testChanges(t *testing.T, open Maker) {
	open.try(t, func(t *testing.T, j journal.Journal) {
		ok(t, j.Put(value("h/1", []byte("a")), value("h/2", []byte("b")), value("h/\xff", []byte("c")), value("i", []byte("d"))))
		ok(t, j.Change([]journal.Span{span("h/1", "h/2"), span("h/3", "h/4")}, value("h/3", []byte("e")), value("h/10", nil)))
		buffer := []byte("f")
		ok(t, j.Change(nil, value("h/4", buffer)))
		clear(buffer) // the journal has its own copy
		ok(t, j.Change([]journal.Span{span("h/4\x00", "h/5"), journal.Only("i"), journal.Only("none")}))
	}, func(t *testing.T, j journal.Journal) {
		values := func(prefix, from string) string {
			var all []string
			ok(t, j.Values(prefix, from, func(v journal.Value) error {
				all = append(all, fmt.Sprintf("%q=%s", v.Name, v.Bytes))
				return nil
			}))
			return strings.Join(all, " ")
		}
		expect(t, values("h/", ""), `"h/10"= "h/2"=b "h/3"=e "h/4"=f "h/\xff"=c`)
		expect(t, values("h/", "h/3"), `"h/3"=e "h/4"=f "h/\xff"=c`)
		expect(t, values("h/", "i"), "")
		expect(t, values("h/\xff", ""), `"h/\xff"=c`)
		expect(t, values("i", ""), "")
		expect(t, values("none", ""), "")
		enough := errors.New("enough")
		if err := j.Values("h/", "", func(journal.Value) error { return enough }); !errors.Is(err, enough) {
			t.Errorf("error %v", err)
		}
	})
}

func testTrim(t *testing.T, open Maker) {
	open.try(t, func(t *testing.T, j journal.Journal) {
		for n := range uint64(5) {
			_, err := j.Append([]byte{'a' + byte(n)})
			ok(t, err)
			ok(t, j.Commit(journal.Piece{At: place(n+1, 0), Last: true, First: 2*n + 1, Count: 2, Events: []byte{'A' + byte(n)}}))
		}
		ok(t, j.TrimRecords(3))
		ok(t, j.TrimRecords(2)) // changes nothing
		ok(t, j.TrimPieces(8))
		ok(t, j.TrimPieces(3)) // changes nothing
	}, func(t *testing.T, j journal.Journal) {
		expect(t, records(t, j, 1), "3=c 4=d 5=e")
		expect(t, pieces(t, j, 0), "7+2=4.0 0 D; 9+2=5.0 0 E")
		if n := j.OldestEvent(); n != 7 {
			t.Errorf("the oldest event is %d", n)
		}
	})
	open.try(t, func(t *testing.T, j journal.Journal) { // of everything: the numbers go on
		for n := range uint64(2) {
			_, err := j.Append([]byte("x"))
			ok(t, err)
			ok(t, j.Commit(journal.Piece{At: place(n+1, 0), Last: true, First: n + 1, Count: 1}))
		}
		ok(t, j.TrimRecords(99))
		ok(t, j.TrimPieces(99))
	}, func(t *testing.T, j journal.Journal) {
		if oldest, newest := j.Bounds(); oldest != 3 || newest != 2 {
			t.Errorf("%d to %d", oldest, newest)
		}
		if p := j.Committed(); p.At.Number != 2 || !p.Last || j.OldestEvent() != 2 {
			t.Errorf("committed %+v, the oldest event is %d", p, j.OldestEvent())
		}
	})
}

// Package export writes the past of a platform as tables: positions, visits or events, as Parquet,
// CSV or newline-delimited JSON.
//
// A [Source] passes rows on in parts: [Stored] reads a journal, and [Server] asks a running
// platform over HTTP. A table is written as it is read, so the memory does not grow with it.
package export

import (
	"context"
	"fmt"
	"io"

	"paddock/fence/track"
	"paddock/internal/platform/history"
)

// Kind is what a row of a table is.
type Kind string

// The kinds of tables.
const (
	Positions Kind = "positions" // ordered by fleet, object and t
	Visits    Kind = "visits"    // ended ones by their end, then open ones by set and fence
	Events    Kind = "events"    // in the order of the log
)

// Query selects rows; "" is all.
type Query struct {
	Fleet, Object string
	// Positions and events of From or later, and before To. Visits that end at From or later, and
	// begin before To.
	From, To track.Millis
}

func (q *Query) selects(fleet, object string) bool {
	return (q.Fleet == "" || q.Fleet == fleet) && (q.Object == "" || q.Object == object)
}

// Source has the past of a platform. Parts are valid until f returns.
type Source interface {
	Positions(ctx context.Context, q Query, f func(history.Object, []history.Fix) error) error
	Visits(ctx context.Context, q Query, f func([]history.Visit) error) error
	// Events passes the JSON of events, which may be others than those of the query too.
	Events(ctx context.Context, q Query, f func(json []byte) error) error
	Close() error
}

// Count is the size of a table. Objects counts those of positions.
type Count struct {
	Rows    uint64 `json:"rows"`
	Objects uint64 `json:"objects,omitempty"`
}

// Write writes a table. progress is called behind each part.
func Write(ctx context.Context, w io.Writer, format Format, kind Kind, s Source, q Query, progress func(Count)) (Count, error) {
	switch kind {
	case Positions:
		return writePositions(ctx, w, format, s, q, progress)
	case Visits:
		t, err := newTable[Visit](w, format, progress)
		if err != nil {
			return Count{}, err
		}
		err = s.Visits(ctx, q, func(found []history.Visit) error { return t.write(visitRows(found)) })
		return t.count, t.end(err)
	case Events:
		t, err := newTable[Event](w, format, progress)
		if err != nil {
			return Count{}, err
		}
		err = s.Events(ctx, q, func(text []byte) error {
			e, err := parseEvent(text)
			if err != nil || !q.selects(e.Fleet, e.Object) || track.Millis(e.At) < q.From || track.Millis(e.At) >= q.To {
				return err
			}
			return t.write([]Event{e})
		})
		return t.count, t.end(err)
	}
	return Count{}, fmt.Errorf("export: no kind %q", kind)
}

func writePositions(ctx context.Context, w io.Writer, format Format, s Source, q Query, progress func(Count)) (Count, error) {
	t, err := newTable[Position](w, format, progress)
	if err != nil {
		return Count{}, err
	}
	var last history.Object
	err = s.Positions(ctx, q, func(o history.Object, fixes []history.Fix) error {
		if o != last {
			t.count.Objects++
			last = o
		}
		return t.write(positionRows(o, fixes))
	})
	return t.count, t.end(err)
}

// table counts the rows that it writes.
type table[T row] struct {
	writer[T]
	count    Count
	progress func(Count)
}

func newTable[T row](w io.Writer, format Format, progress func(Count)) (*table[T], error) {
	out, err := newWriter[T](format, w)
	return &table[T]{writer: out, progress: progress}, err
}

func (t *table[T]) write(rows []T) error {
	t.count.Rows += uint64(len(rows))
	t.progress(t.count)
	return t.Write(rows)
}

// end ends the table, unless reading or writing it has failed.
func (t *table[T]) end(err error) error {
	if err != nil {
		return err
	}
	return t.Close()
}

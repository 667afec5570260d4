package export

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"

	"paddock/fence/track"
	"paddock/internal/platform/events"
	"paddock/internal/platform/history"
)

// row is a row of a table. Its fields are the columns, by their json tags.
type row interface {
	Position | Visit | Event
	// fields appends the columns as text; "" is none.
	fields(dst []string) []string
	// size returns the bytes that may be long.
	size() int
}

// columns returns the names of a row's columns.
func columns[T row]() (names []string) {
	t := reflect.TypeFor[T]()
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		names = append(names, name)
	}
	return names
}

// Instant is a time in milliseconds since 1970. As text it is RFC 3339 in UTC.
type Instant int64

// MarshalJSON returns the text as a JSON string.
func (i Instant) MarshalJSON() ([]byte, error) { return strconv.AppendQuote(nil, i.String()), nil }

// UnmarshalJSON reads a JSON string.
func (i *Instant) UnmarshalJSON(b []byte) error {
	var t time.Time
	err := t.UnmarshalJSON(b)
	*i = Instant(track.MillisOf(t))
	return err
}

func (i Instant) String() string { return events.FormatTime(track.Millis(i).Time()) }

// Position is a row of positions.
type Position struct {
	Fleet    string          `json:"fleet" parquet:"fleet,dict"`
	Object   string          `json:"object" parquet:"object,dict"`
	T        Instant         `json:"t" parquet:"t,delta,timestamp(millisecond)"`
	Seen     Instant         `json:"seen" parquet:"seen,delta,timestamp(millisecond)"`
	Lon      float64         `json:"lon" parquet:"lon"`
	Lat      float64         `json:"lat" parquet:"lat"`
	Accuracy *float32        `json:"accuracy,omitempty" parquet:"accuracy,optional"`
	Speed    *float32        `json:"speed,omitempty" parquet:"speed,optional"`
	Heading  *float32        `json:"heading,omitempty" parquet:"heading,optional"`
	Props    json.RawMessage `json:"props,omitempty" parquet:"props,optional,json"`
}

// positionRows returns the rows of fixes, which share their memory.
func positionRows(o history.Object, fixes []history.Fix) []Position {
	rows := make([]Position, len(fixes))
	for i := range fixes {
		f := &fixes[i]
		rows[i] = Position{
			Fleet: o.Fleet, Object: o.ID, T: Instant(f.Time), Seen: Instant(f.Arrived), Lon: f.Lon, Lat: f.Lat,
			Accuracy: known(&f.Accuracy), Speed: known(&f.Speed), Heading: known(&f.Heading),
		}
		if f.Props != "" {
			rows[i].Props = json.RawMessage(f.Props)
		}
	}
	return rows
}

func known(m *track.Measure) *float32 {
	if !m.Known {
		return nil
	}
	return &m.Value
}

func (p Position) size() int { return len(p.Props) }

func (p Position) fields(dst []string) []string {
	return append(
		dst, p.Fleet, p.Object, p.T.String(), p.Seen.String(), number(p.Lon), number(p.Lat),
		measure(p.Accuracy), measure(p.Speed), measure(p.Heading), string(p.Props),
	)
}

func number(f float64) string { return string(events.AppendFloat(nil, f)) }

func measure(f *float32) string {
	if f == nil {
		return ""
	}
	return strconv.FormatFloat(float64(*f), 'f', -1, 32)
}

// Visit is a row of visits.
type Visit struct {
	Set    string   `json:"set" parquet:"set,dict"`
	Fence  string   `json:"fence" parquet:"fence,dict"`
	Fleet  string   `json:"fleet" parquet:"fleet,dict"`
	Object string   `json:"object" parquet:"object,dict"`
	Begin  Instant  `json:"begin" parquet:"begin,timestamp(millisecond)"`
	End    *Instant `json:"end,omitempty" parquet:"end,optional,timestamp(millisecond)"`
	Open   bool     `json:"open" parquet:"open"`
	Visit  string   `json:"visit" parquet:"visit"`
	Reason string   `json:"reason,omitempty" parquet:"reason,optional,dict"`
}

func visitRows(found []history.Visit) []Visit {
	rows := make([]Visit, len(found))
	for i := range found {
		v := &found[i]
		rows[i] = Visit{
			Set: v.Set, Fence: v.Fence, Fleet: v.Fleet, Object: v.Object.ID,
			Begin: Instant(v.Begin), Open: v.Open, Visit: v.ID(),
		}
		if !v.Open {
			end := Instant(v.End)
			rows[i].End, rows[i].Reason = &end, v.Reason
		}
	}
	return rows
}

func (Visit) size() int { return 0 }

func (v Visit) fields(dst []string) []string {
	end := ""
	if v.End != nil {
		end = v.End.String()
	}
	return append(dst, v.Set, v.Fence, v.Fleet, v.Object, v.Begin.String(), end, strconv.FormatBool(v.Open), v.Visit, v.Reason)
}

// Event is a row of events. What an event does not have is "" or nil.
type Event struct {
	ID         string          `json:"id" parquet:"id"`
	Source     string          `json:"source" parquet:"source,dict"`
	Event      string          `json:"event" parquet:"event,dict"`
	Set        string          `json:"set" parquet:"set,dict"`
	Fence      string          `json:"fence" parquet:"fence,dict"`
	Fleet      string          `json:"fleet" parquet:"fleet,dict"`
	Object     string          `json:"object" parquet:"object,dict"`
	At         Instant         `json:"at" parquet:"at,delta,timestamp(millisecond)"`
	T          Instant         `json:"t" parquet:"t,delta,timestamp(millisecond)"`
	Since      Instant         `json:"since" parquet:"since,delta,timestamp(millisecond)"`
	Lon        *float64        `json:"lon,omitempty" parquet:"lon,optional"`
	Lat        *float64        `json:"lat,omitempty" parquet:"lat,optional"`
	Seq        *int64          `json:"seq,omitempty" parquet:"seq,optional"`
	Visit      string          `json:"visit" parquet:"visit"`
	Reason     string          `json:"reason" parquet:"reason,dict"`
	Properties json.RawMessage `json:"properties,omitempty" parquet:"properties,optional,json"` // of the object
	Rule       string          `json:"rule" parquet:"rule,dict"`
	Count      *int64          `json:"count,omitempty" parquet:"count,optional"`
	OtherFleet string          `json:"other_fleet" parquet:"other_fleet,dict"`
	Other      string          `json:"other" parquet:"other,dict"`
	Metres     *float64        `json:"metres,omitempty" parquet:"metres,optional"`
}

// parseEvent reads an event of package events.
func parseEvent(text []byte) (Event, error) {
	var e struct {
		ID, Source, Type string
		Data             struct {
			Set    string
			Fence  struct{ ID string }
			Object struct {
				ID, Fleet  string
				Properties json.RawMessage
			}
			Point         *struct{ Coordinates [2]float64 }
			At, T, Since  Instant
			Seq, Count    *int64
			Visit, Reason string
			Rule          string
			Other         struct{ ID, Fleet string }
			Metres        *float64
		}
	}
	if err := json.Unmarshal(text, &e); err != nil {
		return Event{}, fmt.Errorf("an event: %w", err)
	}
	d := &e.Data
	r := Event{
		ID: e.ID, Source: e.Source, Event: strings.TrimPrefix(e.Type, "paddock.fence."),
		Set: d.Set, Fence: d.Fence.ID, Fleet: d.Object.Fleet, Object: d.Object.ID, At: d.At, T: d.T, Since: d.Since,
		Seq: d.Seq, Visit: d.Visit, Reason: d.Reason, Rule: d.Rule,
		Count: d.Count, OtherFleet: d.Other.Fleet, Other: d.Other.ID, Metres: d.Metres,
	}
	if d.Point != nil {
		r.Lon, r.Lat = &d.Point.Coordinates[0], &d.Point.Coordinates[1]
	}
	if string(d.Object.Properties) != "{}" {
		r.Properties = d.Object.Properties
	}
	return r, nil
}

func (e Event) size() int { return len(e.Properties) }

func (e Event) fields(dst []string) []string {
	return append(
		dst, e.ID, e.Source, e.Event, e.Set, e.Fence, e.Fleet, e.Object, e.At.String(), e.T.String(), e.Since.String(),
		optional(e.Lon, number), optional(e.Lat, number), optional(e.Seq, whole), e.Visit, e.Reason, string(e.Properties),
		e.Rule, optional(e.Count, whole), e.OtherFleet, e.Other, optional(e.Metres, number),
	)
}

// optional returns the text of a value, "" for nil.
func optional[T any](v *T, text func(T) string) string {
	if v == nil {
		return ""
	}
	return text(*v)
}

func whole(n int64) string { return strconv.FormatInt(n, 10) }

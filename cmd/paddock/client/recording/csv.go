package recording

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// columns are the members of a position, each with the names of its column in lower case.
var columns = []struct {
	member string
	text   bool // and not a number
	names  []string
}{
	{"id", true, []string{"id", "object", "object_id", "vehicle", "vehicle_id", "device", "device_id", "mmsi", "name"}},
	{"fleet", true, []string{"fleet"}},
	{"t", false, []string{"t", "time", "timestamp", "datetime", "date_time", "basedatetime"}},
	{"lon", false, []string{"lon", "lng", "long", "longitude", "x"}},
	{"lat", false, []string{"lat", "latitude", "y"}},
	{"accuracy", false, []string{"accuracy"}},
	{"speed", false, []string{"speed"}},
	{"heading", false, []string{"heading", "course", "bearing"}},
	{"altitude", false, []string{"altitude", "ele", "elevation"}},
	{"props", false, []string{"props"}},
}

// csv reads a table with a line of names: that of GET /v1/objects/{id}/track, of paddock export,
// and others with such columns. Columns that are not known are left out.
func (s *source) csv() Positions {
	return func(yield func(Fix, error) bool) {
		begin, _ := s.in.Peek(bufferSize) // the error is that of the next read
		if strings.HasPrefix(string(begin), "\xef\xbb\xbf") {
			_, _ = s.in.Discard(3)
		}
		line, _, _ := strings.Cut(string(begin), "\n")
		r := csv.NewReader(s.in)
		r.ReuseRecord = true
		r.FieldsPerRecord = -1
		for _, c := range ";\t" {
			if strings.Count(line, string(c)) > strings.Count(line, string(r.Comma)) {
				r.Comma = c
			}
		}
		head, err := r.Read()
		if err != nil {
			yield(Fix{}, s.fatal(err))
			return
		}
		at, err := columnsOf(head)
		if err != nil {
			yield(Fix{}, s.fatal(err))
			return
		}
		for {
			row, err := r.Read()
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil {
				yield(Fix{}, s.fatal(err))
				return
			}
			number, _ := r.FieldPos(0)
			if !s.object(rowObject(row, at), Place{s.name, "line", number}, yield) {
				return
			}
		}
	}
}

// columnsOf returns the column of each member, -1 for none.
func columnsOf(head []string) ([]int, error) {
	names := make([]string, len(head))
	for i, name := range head {
		names[i] = strings.ToLower(strings.TrimSpace(name))
	}
	at := make([]int, len(columns))
	for i, c := range columns {
		at[i] = -1
		for _, name := range c.names {
			if at[i] = slices.Index(names, name); at[i] >= 0 {
				break
			}
		}
		if at[i] < 0 && (c.member == "t" || c.member == "lon" || c.member == "lat") {
			return nil, fmt.Errorf("no column %s: a table of positions has a line of names with t, lon and lat", c.member)
		}
	}
	return at, nil
}

// isUnknownHeading reports whether a heading is the one of ships whose heading is not known (AIS).
func isUnknownHeading(value string) bool {
	v, err := strconv.ParseFloat(value, 64)
	return err == nil && v == 511
}

// rowObject returns the position of a row as JSON, with the rules of which it is decoded.
func rowObject(row []string, at []int) []byte {
	b := []byte{'{'}
	for i, c := range columns {
		if at[i] < 0 || at[i] >= len(row) {
			continue
		}
		value := strings.TrimSpace(row[at[i]])
		if value == "" || c.member == "heading" && isUnknownHeading(value) {
			continue
		}
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = append(strconv.AppendQuote(b, c.member), ':')
		if !c.text && json.Valid([]byte(value)) {
			b = append(b, value...)
			continue
		}
		if c.member == "t" {
			value = strings.Replace(value, " ", "T", 1)
			if !strings.ContainsAny(value, "Zz+") && len(value) >= len("2006-01-02T15:04:05") && strings.LastIndexByte(value, '-') < len("2006-01-02") {
				value += "Z"
			}
		}
		text, _ := json.Marshal(value) // a text always encodes
		b = append(b, text...)
	}
	return append(b, '}')
}

package export

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
)

// filled returns a row that has a value in each column.
func filled[T row](t *testing.T) (r T) {
	t.Helper()
	v := reflect.ValueOf(&r).Elem()
	for i := range v.NumField() {
		f := v.Field(i)
		if f.Kind() == reflect.Pointer {
			f.Set(reflect.New(f.Type().Elem()))
			f = f.Elem()
		}
		switch f.Kind() {
		case reflect.String:
			f.SetString(fmt.Sprint("text, ", i))
		case reflect.Slice:
			f.SetBytes(fmt.Appendf(nil, `{"n":"<%d>"}`, i))
		case reflect.Float32, reflect.Float64:
			f.SetFloat(float64(i) + 0.1)
		case reflect.Int64:
			f.SetInt(1_700_000_000_123 + int64(i))
		case reflect.Bool:
			f.SetBool(true)
		default:
			t.Fatalf("a column of %v", f.Type())
		}
	}
	return r
}

// table returns rows in a form.
func written[T row](t *testing.T, f Format, rows ...T) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := newWriter[T](f, &out)
	if err == nil {
		err = w.Write(rows)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func testForms[T row](t *testing.T) {
	t.Helper()
	var empty T
	full := filled[T](t)
	want := []T{full, empty}

	got, err := parquet.Read[T](bytes.NewReader(written(t, Parquet, want...)), int64(len(written(t, Parquet, want...))))
	if err != nil || len(got) != 2 || !reflect.DeepEqual(got[0], full) || fmt.Sprint(got[1]) != fmt.Sprint(empty) {
		t.Errorf("Parquet: %+v, %v", got, err)
	}
	for i, line := range strings.Split(strings.TrimSpace(string(written(t, NDJSON, want...))), "\n") {
		var r T
		if err := json.Unmarshal([]byte(line), &r); err != nil || !reflect.DeepEqual(r, want[i]) {
			t.Errorf("NDJSON: %s: %+v, %v", line, r, err)
		}
	}
	table, err := csv.NewReader(bytes.NewReader(written(t, CSV, want...))).ReadAll()
	if err != nil || len(table) != 3 || !reflect.DeepEqual(table[0], columns[T]()) {
		t.Fatalf("CSV: %q, %v", table, err)
	}
	var object map[string]any
	text, _ := json.Marshal(full)
	if err := json.Unmarshal(text, &object); err != nil || len(object) != len(table[0]) {
		t.Fatalf("%s, %v", text, err)
	}
	for i, name := range table[0] {
		want := fmt.Sprint(object[name])
		if strings.HasPrefix(want, "map[") {
			want = fmt.Sprintf(`{"n":"<%d>"}`, i)
		}
		if f, ok := object[name].(float64); ok {
			want = number(f)
		}
		if table[1][i] != want {
			t.Errorf("CSV: %s is %q, want %q", name, table[1][i], want)
		}
	}
}

// Each form has each column of each row: those with all values, and those with none.
func TestForms(t *testing.T) {
	testForms[Position](t)
	testForms[Visit](t)
	testForms[Event](t)
}

// Events about several objects have the columns that are theirs, and none of the others.
func TestEventsAboutSeveral(t *testing.T) {
	for text, want := range map[string]string{
		`{"id":"count/r/a/7","source":"/sets/s","type":"paddock.fence.count_end","data":{"set":"s","fence":{"id":"a","properties":{}},"object":null,"count":3,"at_least":4,
			"at":"2026-01-01T00:00:01.000Z","t":"2026-01-01T00:00:02.000Z","since":"2026-01-01T00:00:00.000Z","visit":"count/r/a/5","reason":"move","rule":"r"}}`: "count/r/a/7,/sets/s,count_end,s,a,,,2026-01-01T00:00:01.000Z,2026-01-01T00:00:02.000Z,2026-01-01T00:00:00.000Z,,,,count/r/a/5,move,,r,3,,,",
		`{"id":"near/r/v/w/7","source":"/rules/r","type":"paddock.fence.near_begin","data":{"set":null,"fence":null,"object":{"id":"v","fleet":"f","properties":{}},
			"point":{"type":"Point","coordinates":[1,2]},"other":{"id":"w","fleet":"g","properties":{}},"metres":12.5,
			"at":"2026-01-01T00:00:01.000Z","t":"2026-01-01T00:00:02.000Z","since":"2026-01-01T00:00:01.000Z","visit":"near/r/v/w/7","reason":"move","rule":"r"}}`: "near/r/v/w/7,/rules/r,near_begin,,,f,v,2026-01-01T00:00:01.000Z,2026-01-01T00:00:02.000Z,2026-01-01T00:00:01.000Z,1,2,,near/r/v/w/7,move,,r,,g,w,12.5",
	} {
		e, err := parseEvent([]byte(text))
		if got := strings.Join(e.fields(nil), ","); err != nil || got != want {
			t.Errorf("%s, %v, want %s", got, err, want)
		}
	}
}

// Events that come while a platform is read do not prolong the table without an end.
func TestEventsEnd(t *testing.T) {
	kept, told := eventsPage+1, 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if told > 2*kept {
			http.Error(w, "asked without an end", http.StatusBadRequest)
			return
		}
		var page bytes.Buffer
		for n := 0; n < eventsPage && (told < kept || n == 0); n++ {
			told++
			page.WriteString("{\"specversion\":\"1.0\"}\n")
		}
		w.Header().Set("Paddock-Cursor", strconv.Itoa(told))
		_, _ = w.Write(page.Bytes())
	}))
	defer s.Close()
	found := 0
	err := (&Server{URL: s.URL}).Events(t.Context(), Query{}, func([]byte) error { found++; return nil })
	if err != nil || found < kept || found != told {
		t.Errorf("%d of %d events, %d were sent: %v", found, kept, told, err)
	}
}

// A row group of Parquet is bounded in rows and in bytes, as it is in memory until it is complete.
func TestRowGroups(t *testing.T) {
	groups := func(rows ...Position) (sizes []int64) {
		b := written(t, Parquet, rows...)
		f, err := parquet.OpenFile(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			t.Fatal(err)
		}
		for _, g := range f.RowGroups() {
			sizes = append(sizes, g.NumRows())
		}
		return sizes
	}
	if got := groups(make([]Position, groupRows+5)...); !reflect.DeepEqual(got, []int64{groupRows, 5}) {
		t.Error(got)
	}
	long := Position{Props: json.RawMessage(`{"a":"` + strings.Repeat("x", 1<<20-8) + `"}`)}
	rows := make([]Position, groupBytes>>20+3)
	for i := range rows {
		rows[i] = long
	}
	if got := groups(rows...); !reflect.DeepEqual(got, []int64{groupBytes >> 20, 3}) {
		t.Error(got)
	}
}

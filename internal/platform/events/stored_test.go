package events

import (
	"bytes"
	"reflect"
	"testing"
)

func TestStoredRecords(t *testing.T) {
	e := event()
	want := []Record{NewRecord(e), {Subject: "s", JSON: Plain([]byte("{}"))}}
	want[0].JSON = Plain(want[0].JSON.Bytes())
	var b []byte
	for i := range want {
		b = AppendRecord(b, &want[i])
	}
	rest := b
	for i := range want {
		var got Record
		var err error
		if got, rest, err = ParseRecord(rest); err != nil || !reflect.DeepEqual(got, want[i]) {
			t.Errorf("%+v, %v", got, err)
		}
	}
	if len(rest) > 0 {
		t.Errorf("%d bytes are left", len(rest))
	}
	one := AppendRecord(nil, &want[0])
	for n := range one {
		if _, _, err := ParseRecord(one[:n]); err == nil {
			t.Errorf("%d of %d bytes were taken", n, len(one))
		}
	}
}

func FuzzParseRecord(f *testing.F) {
	r := NewRecord(event())
	f.Add(AppendRecord(nil, &r))
	f.Fuzz(func(t *testing.T, b []byte) {
		r, rest, err := ParseRecord(b)
		if err != nil {
			return
		}
		if again, _, err := ParseRecord(AppendRecord(nil, &r)); err != nil || !reflect.DeepEqual(again, r) || len(rest) > len(b) || !bytes.HasSuffix(b, rest) {
			t.Errorf("%+v is stored as %+v: %v", r, again, err)
		}
	})
}

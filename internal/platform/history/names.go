package history

import (
	"encoding/binary"
	"strings"

	"paddock/fence/track"
	"paddock/internal/platform/journal"
)

// The names of the values in the journal. Days come before objects, so that old days are removed by
// one span, new values are stored behind all others, and a day of an object lies together.
const (
	blocks    = "hb/" // day, object, hour -> block
	fragments = "hf/" // day, object, hour, number of the last record -> block of some of its records
	lastDays  = "ho/" // object -> the last day of its fixes
	visited   = "hv/" // end, set, fence, object, begin -> visit that has ended
	visiting  = "hw/" // set, fence, object -> visit that has not
	progress  = "hp/" // "records" and "events" -> what is stored up to
)

// appendText appends a text so that names are in the order of their texts: with an end of 0, 1,
// and each 0 in it as 0, 2. No text's form begins another one's.
func appendText(b []byte, s string) []byte {
	for ; ; s = s[strings.IndexByte(s, 0)+1:] {
		zero := strings.IndexByte(s, 0)
		if zero < 0 {
			return append(append(b, s...), 0, 1)
		}
		b = append(append(b, s[:zero]...), 0, 2)
	}
}

// cutText reads what appendText wrote, and returns the rest.
func cutText(name string) (s, rest string, ok bool) {
	whole := ""
	for {
		zero := strings.IndexByte(name, 0)
		if zero < 0 || zero+1 == len(name) {
			return "", "", false
		}
		whole += name[:zero]
		mark := name[zero+1]
		if name = name[zero+2:]; mark == 1 {
			return whole, name, true
		}
		whole += "\x00"
	}
}

// cutTexts reads texts one after the other.
func cutTexts(name string, texts ...*string) (rest string, ok bool) {
	for _, t := range texts {
		if *t, name, ok = cutText(name); !ok {
			return "", false
		}
	}
	return name, true
}

// Object names an object.
type Object struct{ Fleet, ID string }

// name returns the object in names of values.
func (o Object) name() string { return string(appendText(appendText(nil, o.Fleet), o.ID)) }

// cutObject reads an object of a name, and returns its part of the name and the rest.
func cutObject(name string) (o Object, object, rest string, ok bool) {
	rest, ok = cutTexts(name, &o.Fleet, &o.ID)
	return o, name[:len(name)-len(rest)], rest, ok
}

// ofDay returns the prefix of the names of a day, and of those of an object in it.
func ofDay(kind string, number int64, object string) string {
	b := appendNumber([]byte(kind), number)
	return string(append(b, object...))
}

// appendNumber appends a number so that names are in its order.
func appendNumber(b []byte, v int64) []byte { return binary.BigEndian.AppendUint64(b, uint64(v)^1<<63) }

// cutNumber reads what appendNumber wrote.
func cutNumber(name string) (v int64, rest string, ok bool) {
	if len(name) < 8 {
		return 0, "", false
	}
	return int64(binary.BigEndian.Uint64([]byte(name[:8])) ^ 1<<63), name[8:], true
}

// slot is an hour of an object, without a kind: day, object, hour.
type slot string

func slotOf(object string, t track.Millis) slot {
	return slot(append(append(appendNumber(nil, dayOf(t)), object...), byte(hourOf(t))))
}

// begin returns the time at which the hour begins.
func (s slot) begin() track.Millis {
	number, _, _ := cutNumber(string(s))
	return track.Millis(number)*day + track.Millis(s[len(s)-1])*hour
}

// day returns the number of the slot's day, and object the object's part of the name.
func (s slot) day() int64     { number, _, _ := cutNumber(string(s)); return number }
func (s slot) object() string { return string(s[8 : len(s)-1]) }

// block returns the name of the slot's block, and fragment that of one of its fragments.
func (s slot) block() string { return blocks + string(s) }

func (s slot) fragment(number uint64) string {
	return string(appendNumber([]byte(fragments+string(s)), int64(number)))
}

// within returns the span of all names that begin with a prefix.
func within(prefix string) journal.Span {
	return journal.Span{From: prefix, To: journal.PrefixEnd(prefix)}
}

// hourIn returns the hour of a name of a block or a fragment.
func hourIn(rest string) (int, bool) {
	if len(rest) == 0 || rest[0] > 23 {
		return 0, false
	}
	return int(rest[0]), true
}

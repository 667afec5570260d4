package ingest

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"

	"github.com/fxamacker/cbor/v2"

	"paddock/fence/track"
	"paddock/internal/platform/events"
)

// cborMap is the major type of a map, in the upper bits of its first byte.
const cborMap = 5

// Limits of a position as CBOR, for any values beyond the known fields. Larger values are not
// decoded.
const (
	cborDepth = 16
	cborItems = 1024
)

var cborMode = func() cbor.DecMode {
	mode, err := cbor.DecOptions{
		DupMapKey: cbor.DupMapKeyEnforcedAPF, IndefLength: cbor.IndefLengthForbidden, TagsMd: cbor.TagsForbidden,
		MaxNestedLevels: cborDepth, MaxArrayElements: cborItems, MaxMapPairs: cborItems,
		DefaultMapType: reflect.TypeFor[map[string]any](),
		NaN:            cbor.NaNDecodeForbidden, Inf: cbor.InfDecodeForbidden,
	}.DecMode()
	if err != nil {
		panic(err) // the options are wrong
	}
	return mode
}()

// cbor decodes a map with the keys of the JSON form, in lower case. It records unknown keys.
func (d *Decoder) cbor(body []byte, ignored *Ignored) (track.Position, error) {
	var m map[string]any
	if err := cborMode.Unmarshal(body, &m); err != nil {
		return track.Position{}, describeCBOR(err)
	}
	var unknown []string
	for key := range m {
		if !isField(key) {
			unknown = append(unknown, key)
		}
	}
	slices.Sort(unknown)
	for _, key := range unknown {
		ignored.add([]byte(key), positionMembers)
	}
	r := cborFields{m: m}
	f := fields{
		id: r.id(), fleet: r.text("fleet"), lon: r.number("lon"), lat: r.number("lat"), t: r.time(),
		accuracy: r.number("accuracy"), speed: r.number("speed"), heading: r.number("heading"),
		altitude: r.number("altitude"), props: r.props(),
	}
	if r.err != nil {
		return track.Position{}, r.err
	}
	return d.judge(&f)
}

// describeCBOR returns the decoder's error without the names of Go's types.
func describeCBOR(err error) error {
	switch e := err.(type) {
	case *cbor.DupMapKeyError:
		return fmt.Errorf("CBOR: the key %.64q twice", fmt.Sprint(e.Key))
	case *cbor.IndefiniteLengthError:
		return errors.New("CBOR: a length that is indefinite")
	case *cbor.TagsMdError:
		return errors.New("CBOR: a tag")
	case *cbor.MaxNestedLevelError:
		return fmt.Errorf("CBOR: more than %d levels", cborDepth)
	case *cbor.MaxArrayElementsError, *cbor.MaxMapPairsError:
		return fmt.Errorf("CBOR: more than %d elements", cborItems)
	case *cbor.UnmarshalTypeError:
		return errors.New("CBOR: a key that is not a text")
	case *cbor.ExtraneousDataError:
		return errors.New("CBOR: something follows the map")
	case *cbor.UnacceptableDataItemError:
		return errors.New("CBOR: a number that is NaN or infinite")
	case *cbor.SemanticError:
		return errors.New("CBOR: a text that is not UTF-8")
	}
	return errors.New("malformed CBOR")
}

// cborFields reads field after field of a map and keeps the first error. null counts as absent.
type cborFields struct {
	m   map[string]any
	err error
}

func (r *cborFields) fail(err error) {
	if r.err == nil {
		r.err = err
	}
}

func (r *cborFields) text(field string) *string {
	switch v := r.m[field].(type) {
	case nil:
	case string:
		return &v
	default:
		r.fail(errors.New(field + ": must be a string"))
	}
	return nil
}

// id also takes a whole number, as the JSON form does.
func (r *cborFields) id() *string {
	v := r.m["id"]
	switch v.(type) {
	case nil:
		return nil
	case string:
		return r.text("id")
	}
	text, ok := wholeNumber(v)
	if !ok {
		r.fail(errors.New("id: must be a string or a whole number"))
	}
	return &text
}

// wholeNumber formats an integer. It fails below -2^63, which the decoder returns as a big.Int: no
// field has such a value.
func wholeNumber(v any) (text string, ok bool) {
	switch v := v.(type) {
	case uint64:
		return strconv.FormatUint(v, 10), true
	case int64:
		return strconv.FormatInt(v, 10), true
	}
	return "", false
}

func (r *cborFields) number(field string) *float64 {
	v := r.m[field]
	if v == nil {
		return nil
	}
	f, ok := v.(float64)
	if text, whole := wholeNumber(v); whole {
		f, _ = strconv.ParseFloat(text, 64) // digits always parse
		ok = true
	}
	if !ok {
		r.fail(errors.New(field + ": must be a number"))
	}
	return &f
}

func (r *cborFields) time() *track.Millis {
	var t *track.Millis
	var err error
	switch v := r.m["t"].(type) {
	case nil:
	case string:
		t, err = timeOf(v)
	case float64:
		t, err = millis(v, strconv.FormatFloat(v, 'g', -1, 64))
	default:
		text, ok := wholeNumber(v)
		if !ok {
			r.fail(errTime)
			return nil
		}
		ms, _ := strconv.ParseFloat(text, 64)
		t, err = millis(ms, text)
	}
	if err != nil {
		r.fail(err)
	}
	return t
}

// props encodes the properties as JSON, members in the order of their names.
func (r *cborFields) props() json.RawMessage {
	v := r.m["props"]
	if v == nil {
		return nil
	}
	if _, ok := v.(map[string]any); !ok {
		r.fail(errors.New("props: must be an object"))
		return nil
	}
	if !jsonable(v) {
		r.fail(errors.New("props: bytes, a simple value, or an integer below -2^63"))
		return nil
	}
	text, err := events.PlainJSON(v)
	if err != nil {
		r.fail(fmt.Errorf("props: %w", err))
		return nil
	}
	return text
}

// jsonable reports whether a value can be written as JSON.
func jsonable(v any) bool {
	switch v := v.(type) {
	case nil, bool, string, uint64, int64, float64:
		return true
	case []any:
		for _, e := range v {
			if !jsonable(e) {
				return false
			}
		}
		return true
	case map[string]any:
		for _, e := range v {
			if !jsonable(e) {
				return false
			}
		}
		return true
	}
	return false
}

package httpapi

import (
	"bufio"
	"encoding/json"
	"fmt"
	"iter"
	"net/http"
	"strconv"
	"strings"

	"paddock/fence"
	"paddock/internal/lookup"
)

// getFences lists a set's fences by their ordinals, which answers in columns have
// in place of ids: all, or those that are asked for. It writes as it goes.
func (a *API) getFences(w http.ResponseWriter, r *http.Request) error {
	q, err := params(r, "ordinals", "properties")
	if err != nil {
		return err
	}
	choice := q.Get("properties")
	if err := lookup.CheckProperties(choice); err != nil {
		return fail(http.StatusBadRequest, "query: %v", err)
	}
	s, err := a.set(r)
	if err != nil {
		return err
	}
	snap := s.Snapshot()
	fences := snap.All()
	if q.Has("ordinals") {
		if fences, err = chosen(snap, q.Get("ordinals")); err != nil {
			return err
		}
	}
	if answered(w, r, a.etags.of(s, snap)) {
		return nil
	}
	w.Header().Set("Content-Type", "application/json")
	writeFences(w, s.Name(), snap.Generation(), fences, choice == lookup.PropertiesAll)
	return nil
}

// chosen are the fences of the ordinals of a list, but for those that are gone.
func chosen(snap *fence.Snapshot, list string) (iter.Seq2[fence.Ref, *fence.Fence], error) {
	var refs []fence.Ref
	for text := range strings.SplitSeq(list, ",") {
		n, err := strconv.ParseUint(text, 10, 32)
		if err != nil {
			return nil, fail(http.StatusBadRequest, "query: ordinals: %.32q is not a whole number below 2^32", text)
		}
		refs = append(refs, fence.Ref(n))
	}
	return func(yield func(fence.Ref, *fence.Fence) bool) {
		for _, ref := range refs {
			if f := snap.Fence(ref); f != nil && !yield(ref, f) {
				return
			}
		}
	}, nil
}

// writeFences fails only if the client is gone, which nobody else cares for.
func writeFences(w http.ResponseWriter, set string, generation uint64, fences iter.Seq2[fence.Ref, *fence.Fence], properties bool) {
	b := bufio.NewWriterSize(w, 64<<10)
	_, _ = fmt.Fprintf(b, `{"set":%s,"generation":%d,"fences":[`, quote(set), generation)
	comma := ""
	for ref, f := range fences {
		if _, err := fmt.Fprintf(b, `%s{"ordinal":%d,"id":%s`, comma, ref, quote(f.Key)); err != nil {
			return
		}
		if properties {
			_, _ = b.WriteString(`,"properties":`)
			_, _ = b.Write(orNull(f.Properties))
		}
		_ = b.WriteByte('}')
		comma = ","
	}
	_, _ = b.WriteString("]}\n")
	_ = b.Flush()
}

func orNull(v json.RawMessage) json.RawMessage {
	if v == nil {
		return json.RawMessage("null")
	}
	return v
}

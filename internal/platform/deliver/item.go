package deliver

import (
	"encoding/json"
	"fmt"
	"iter"
	"strings"

	"paddock/internal/platform/events"
)

// MessageID names an item, also when it is delivered again: the id of the event, behind which the
// run stands if each run of the process counts events from 1, as it stands in their source.
func (it *Item) MessageID() string {
	if it.Gap != nil {
		return fmt.Sprintf("gap/%d", it.Cursor)
	}
	id, source := Attributes(&it.Record)
	if _, run, ok := strings.Cut(source, "?"); ok {
		id += "?" + run
	}
	return id
}

// AppendCloudEvent appends the item as a CloudEvent. A gap is one too, so that a receiver reads it
// as it reads the others.
func (it *Item) AppendCloudEvent(dst []byte) []byte {
	if it.Gap == nil {
		return it.JSON.Append(dst)
	}
	data := map[string]any{}
	it.Gap.Describe(data)
	text, _ := json.Marshal(map[string]any{ // such values always encode
		"specversion": "1.0", "id": it.MessageID(), "source": "/events", "type": "paddock.gap",
		"datacontenttype": "application/json", "data": data,
	})
	return append(dst, text...)
}

// AppendTile38 appends the item as a notification of Tile38, which has none for a gap: it stays a
// CloudEvent.
func (it *Item) AppendTile38(dst []byte) []byte {
	if it.Gap != nil {
		return it.AppendCloudEvent(dst)
	}
	return events.AppendTile38(dst, &it.Record)
}

// TraceHeaders yields the headers traceparent and tracestate of the request that caused the event,
// as far as there are any.
func (it *Item) TraceHeaders() iter.Seq2[string, string] {
	return func(yield func(name, value string) bool) {
		t, ok := it.Trace()
		if ok && yield("traceparent", t.Parent) && t.State != "" {
			yield("tracestate", t.State)
		}
	}
}

// EventID returns the id of an event: the attribute of its JSON.
func EventID(r *events.Record) string {
	id, _ := Attributes(r)
	return id
}

// Attributes returns the attributes id and source of an event.
func Attributes(r *events.Record) (id, source string) {
	var e struct {
		ID     string `json:"id"`
		Source string `json:"source"`
	}
	_ = json.Unmarshal(r.JSON.Bytes(), &e) // it is JSON
	return e.ID, e.Source
}

package webhook

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"paddock/internal/platform/deliver"
	"paddock/internal/platform/events"
)

var contentTypes = map[string]string{
	CloudEvents: "application/cloudevents+json; charset=utf-8",
	Batch:       "application/cloudevents-batch+json; charset=utf-8",
	Tile38:      "application/json",
	Slack:       "application/json",
}

// messageID returns the header webhook-id of a batch: the id of its first event, and the number of
// the others. It is the same each time that the batch is sent. Where each run of the process counts
// events from 1, the id has the run, as their source has.
func messageID(b *deliver.Batch) string {
	it := &b.Items[0]
	id := gapID(it)
	if it.Gap == nil {
		var source string
		id, source = deliver.Attributes(&it.Record)
		if _, run, ok := strings.Cut(source, "?"); ok {
			id += "?" + run
		}
	}
	if n := len(b.Items); n > 1 {
		id += "+" + strconv.Itoa(n-1)
	}
	return strings.ReplaceAll(id, ".", "%2E") // a dot ends the id in what is signed
}

func gapID(it *deliver.Item) string { return fmt.Sprintf("gap/%d", it.Cursor) }

// appendBody appends the body of a request. Only the batched form has more than one item.
func appendBody(dst []byte, format string, b *deliver.Batch) []byte {
	switch format {
	case Tile38:
		if it := &b.Items[0]; it.Gap == nil {
			return events.AppendTile38(dst, &it.Record)
		}
		return appendGap(dst, &b.Items[0])
	case Slack:
		text, _ := events.PlainJSON(map[string]string{"text": sentence(&b.Items[0])}) // a text always encodes
		return append(dst, text...)
	case Batch:
		dst = append(dst, '[')
		for i := range b.Items {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = appendCloudEvent(dst, &b.Items[i])
		}
		return append(dst, ']')
	}
	return appendCloudEvent(dst, &b.Items[0])
}

func appendCloudEvent(dst []byte, it *deliver.Item) []byte {
	if it.Gap != nil {
		return appendGap(dst, it)
	}
	return it.JSON.Append(dst)
}

// appendGap appends a gap as a CloudEvent, so that a receiver reads it as it reads the others.
func appendGap(dst []byte, it *deliver.Item) []byte {
	data := map[string]any{}
	it.Gap.Describe(data)
	text, _ := json.Marshal(map[string]any{ // such values always encode
		"specversion": "1.0", "id": gapID(it), "source": "/events", "type": "paddock.gap",
		"datacontenttype": "application/json", "data": data,
	})
	return append(dst, text...)
}

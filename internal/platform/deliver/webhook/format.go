package webhook

import (
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

// messageID returns the header webhook-id of a batch: the id of its first item, and the number of
// the others. It is the same each time that the batch is sent.
func messageID(b *deliver.Batch) string {
	id := b.Items[0].MessageID()
	if n := len(b.Items); n > 1 {
		id += "+" + strconv.Itoa(n-1)
	}
	return strings.ReplaceAll(id, ".", "%2E") // a dot ends the id in what is signed
}

// appendBody appends the body of a request. Only the batched form has more than one item.
func appendBody(dst []byte, format string, b *deliver.Batch) []byte {
	first := &b.Items[0]
	switch format {
	case Tile38:
		return first.AppendTile38(dst)
	case Slack:
		text, _ := events.PlainJSON(map[string]string{"text": sentence(first)}) // a text always encodes
		return append(dst, text...)
	case Batch:
		dst = append(dst, '[')
		for i := range b.Items {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = b.Items[i].AppendCloudEvent(dst)
		}
		return append(dst, ']')
	}
	return first.AppendCloudEvent(dst)
}

package webhook

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"paddock/fence/track"
	"paddock/internal/platform/deliver"
)

// told is what a sentence needs of an event.
type told struct {
	Data struct {
		Rule     string
		Object   party
		Other    party
		Fence    party
		Count    int
		AtLeast  int `json:"at_least"`
		Metres   float64
		Duration int64 `json:"duration_ms"`
	}
}

// party is an object or a fence.
type party struct {
	ID         string
	Properties json.RawMessage
}

// name returns the property name, title or label, or the id.
func (p *party) name() string {
	var named struct{ Name, Title, Label any }
	_ = json.Unmarshal(p.Properties, &named) // else it has no name
	for _, n := range []any{named.Name, named.Title, named.Label} {
		if s, ok := n.(string); ok && s != "" {
			return s
		}
	}
	return p.ID
}

// slackText escapes the three characters that mean something in Slack's texts.
var slackText = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

// sentence returns an event as one line for people.
func sentence(it *deliver.Item) string {
	if it.Gap != nil {
		text := "Events are missing here"
		if lost := it.Gap.Lost; lost == nil || lost.Counted {
			text += fmt.Sprintf(" (%d)", it.Gap.Count())
		}
		return slackText.Replace(text + ": " + it.Gap.Reason() + ".")
	}
	var t told
	_ = json.Unmarshal(it.JSON.Bytes(), &t) // it is an event
	text := happened(it, &t) + " at " + it.Visit.At.Time().UTC().Format("2006-01-02 15:04:05 UTC")
	if t.Data.Rule != "" {
		text += " (rule " + t.Data.Rule + ")"
	}
	return slackText.Replace(text)
}

// happened returns what an event tells, without its time.
func happened(it *deliver.Item, t *told) string {
	d := &t.Data
	object, place := d.Object.name(), d.Fence.name()
	if place == "" {
		place = "all of " + it.Set
	} else {
		place += " (" + it.Set + ")"
	}
	switch it.Kind {
	case track.Enter:
		return object + " entered " + place
	case track.Exit:
		return object + " left " + place
	case track.Inside:
		return object + " is inside " + place
	case track.Outside:
		return object + " is outside " + place
	case track.Cross:
		return object + " crossed " + place
	case track.Dwell:
		return fmt.Sprintf("%s has been in %s for %v", object, place, time.Duration(d.Duration)*time.Millisecond)
	case track.ConditionBegin:
		return object + " meets the condition in " + place
	case track.ConditionEnd:
		return object + " does not meet the condition in " + place + " any more"
	case track.CountBegin:
		return fmt.Sprintf("%d objects are in %s, at least %d", d.Count, place, d.AtLeast)
	case track.CountEnd:
		return fmt.Sprintf("%d objects are in %s, fewer than %d", d.Count, place, d.AtLeast)
	case track.NearBegin:
		return fmt.Sprintf("%s and %s are %.0f m apart", object, d.Other.name(), d.Metres)
	case track.NearEnd:
		return fmt.Sprintf("%s and %s have parted, %.0f m apart", object, d.Other.name(), d.Metres)
	}
	return object + " " + it.Kind.String() + " " + place
}

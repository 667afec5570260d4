package survival

import (
	"encoding/json"
	"fmt"
	"strings"
)

// begun is the ids of the events about several objects that have begun something, by its name.
type begun map[string]string

// judge examines the next of these events: a begin is not there twice, and an end names its begin.
func (b begun) judge(text string) error {
	var e struct {
		ID, Source, Type string
		Data             struct{ Visit string }
	}
	if err := json.Unmarshal([]byte(text), &e); err != nil {
		return err
	}
	name := e.Source + " " + e.ID[:strings.LastIndexByte(e.ID, '/')+1]
	_, open := b[name]
	switch begins := strings.HasSuffix(e.Type, "_begin"); {
	case !begins && !strings.HasSuffix(e.Type, "_end"):
		return fmt.Errorf("an event without a count: %s", text)
	case begins && (open || e.Data.Visit != e.ID):
		return fmt.Errorf("%s began with %q, and again: %s", name, b[name], text)
	case begins:
		b[name] = e.ID
	case b[name] != e.Data.Visit:
		return fmt.Errorf("%s began with %q, and not as told: %s", name, b[name], text)
	default:
		delete(b, name)
	}
	return nil
}

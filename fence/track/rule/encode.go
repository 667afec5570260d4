package rule

import (
	"slices"
	"time"

	"paddock/fence/track/rule/internal/document"
)

// object writes a JSON object, member by member.
type object struct{ text []byte }

func (o *object) key(name string) {
	if len(o.text) > 0 && o.text[len(o.text)-1] != '{' {
		o.text = append(o.text, ',')
	}
	o.text = append(document.AppendText(o.text, name), ':')
}

// string writes a member that is a text, unless it is empty.
func (o *object) string(name, s string) {
	if s != "" {
		o.key(name)
		o.text = document.AppendText(o.text, s)
	}
}

func (o *object) span(name string, d time.Duration) {
	if d != 0 {
		o.string(name, spanText(d))
	}
}

func (o *object) number(name string, f float64) {
	if f != 0 {
		o.key(name)
		o.text = document.AppendNumber(o.text, f)
	}
}

func (o *object) list(name string, texts []string) {
	if len(texts) == 0 {
		return
	}
	o.key(name)
	o.text = append(o.text, '[')
	for i, s := range texts {
		if i > 0 {
			o.text = append(o.text, ',')
		}
		o.text = document.AppendText(o.text, s)
	}
	o.text = append(o.text, ']')
}

// nest writes a member that is an object with the members that write writes.
func (o *object) nest(name string, write func()) {
	o.key(name)
	o.text = append(o.text, '{')
	write()
	o.text = append(o.text, '}')
}

// AppendJSON appends the canonical JSON of a rule without faults: members in a fixed order, and
// none that has its default. Equal rules have equal bytes.
func (r *Rule) AppendJSON(dst []byte) []byte {
	n := *r
	n.Fences.IDs = slices.Clone(r.Fences.IDs)
	n.normalize()
	o := &object{append(dst, '{')}
	o.string("id", n.ID)
	o.string("set", n.Set)
	n.Fences.write(o)
	o.string("objects", n.Objects)
	o.string("fleet", n.Fleet)
	n.writeEvents(o)
	n.Active.write(o)
	n.writeSecond(o)
	if n.Deliver != nil {
		o.key("deliver")
		o.text = append(o.text, n.Deliver...)
	}
	if n.Disabled {
		o.key("enabled")
		o.text = append(o.text, "false"...)
	}
	return append(o.text, '}')
}

// writeEvents writes the events and their settings.
func (r *Rule) writeEvents(o *object) {
	if r.Detect != defaultDetect {
		o.list("detect", r.Detect.names())
	}
	if r.Dwell != (Dwell{}) {
		o.nest("dwell", func() { o.span("after", r.Dwell.After); o.span("every", r.Dwell.Every) })
	}
	r.Inside.write("inside", o)
	r.Outside.write("outside", o)
	if r.When != nil {
		o.string("when", r.When.text)
	}
	o.string("direction", r.Direction.String())
}

func (r Repeat) write(name string, o *object) {
	if r.Every != 0 {
		o.nest(name, func() { o.span("every", r.Every) })
	}
}

// writeSecond writes what rules about several objects have.
func (r *Rule) writeSecond(o *object) {
	if r.AtLeast != 0 {
		o.nest("count", func() { o.number("at_least", float64(r.AtLeast)) })
	}
	n := r.Near
	if n == nil {
		return
	}
	o.nest("near", func() {
		o.string("objects", n.Objects)
		o.string("fleet", n.Fleet)
		o.number("metres", n.Metres)
		if n.ExitMetres != n.Metres*exitShare {
			o.number("exit_metres", n.ExitMetres)
		}
	})
}

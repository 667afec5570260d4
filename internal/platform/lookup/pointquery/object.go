package pointquery

import "bytes"

// entry is a member of an object in the output: "key":value.
type entry struct{ begin, keyEnd, end int }

// object writes an object, sorted by its keys. It writes members as they are read. If they are not
// sorted, which is common, it writes them again in order, behind the first ones, and moves them
// over the first ones.
func (p *pass) object(levels int) bool {
	var entries [maxKeys]entry
	n := 0
	sorted := true
	p.out = append(p.out, '{')
	begin := len(p.out)
	for more := p.open('{'); more; more = p.next('}') {
		key, ok := p.key()
		if !ok || n == maxKeys {
			return false
		}
		if n > 0 {
			p.out = append(p.out, ',')
		}
		e := entry{begin: len(p.out)}
		p.out = append(append(append(p.out, '"'), key...), '"')
		e.keyEnd = len(p.out) - 1
		p.out = append(p.out, ':')
		if !p.value(levels) {
			return false
		}
		e.end = len(p.out)
		i, fresh := p.place(entries[:n], e)
		if !fresh {
			return false // the last of repeated keys would count
		}
		sorted = sorted && i == n
		copy(entries[i+1:], entries[i:n])
		entries[i] = e
		n++
	}
	if !sorted {
		p.rewrite(begin, entries[:n])
	}
	p.out = append(p.out, '}')
	return !p.broken
}

// place finds the position of e among sorted entries, and reports whether its key is new.
func (p *pass) place(entries []entry, e entry) (i int, fresh bool) {
	key := p.out[e.begin+1 : e.keyEnd]
	for i = len(entries); i > 0; i-- {
		switch before := &entries[i-1]; bytes.Compare(p.out[before.begin+1:before.keyEnd], key) {
		case 0:
			return i, false
		case -1:
			return i, true
		}
	}
	return 0, true
}

// rewrite puts the output since begin into the order of the entries.
func (p *pass) rewrite(begin int, entries []entry) {
	end := len(p.out)
	for i, e := range entries {
		if i > 0 {
			p.out = append(p.out, ',')
		}
		p.out = append(p.out, p.out[e.begin:e.end]...)
	}
	p.out = p.out[:begin+copy(p.out[begin:end], p.out[end:])]
}
